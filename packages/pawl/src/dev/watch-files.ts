/**
 * Says when the content of a file has changed. Folders are watched, since editors save by moving a new file into place; contents are compared,
 * since one save makes several events and some make none of any interest.
 */
import { createHash } from 'node:crypto'
import { readFileSync, watch, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'

const restMs = 150

export interface FileWatch {
  /** Watches these from now on, as they are now. */
  follow(files: readonly string[]): void
  close(): void
}

/** What files hold, by path: for `watchFiles`, as they were when somebody read them. */
export const contentsOf = (files: readonly string[]): ReadonlyMap<string, string> => new Map(files.map((file) => [file, digestOf(file)]))

/** @param before what was read of the files before they were followed: what changed since is told at once. */
export function watchFiles(onChange: (files: readonly string[]) => void, before: ReadonlyMap<string, string> = new Map()): FileWatch {
  let watchers: FSWatcher[] = []
  let known = new Map(before)
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    const changed = [...known].flatMap(([file, before]) => (digestOf(file) === before ? [] : [file]))
    for (const file of changed) known.set(file, digestOf(file))
    if (changed.length > 0) onChange(changed)
  }
  const soon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(look, restMs)
  }
  const stop = (): void => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
    watchers = []
  }
  return {
    follow(files) {
      stop()
      known = new Map(files.map((file) => [file, known.get(file) ?? digestOf(file)]))
      watchers = [...new Set(files.map((file) => dirname(file)))].map((folder) => watch(folder, soon).on('error', () => undefined))
      // What changed between the reading and the watching.
      soon()
    },
    close: stop,
  }
}

/** Empty while it is not there: in the middle of a save. */
function digestOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return ''
  }
}
