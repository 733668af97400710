/**
 * Paths that cannot leave the root. Names are checked first; then the parent folder is opened, its real path is compared
 * with the root's, and the file is reached *through that open folder* (on Linux by `/proc/self/fd`), so that a folder
 * swapped for a symbolic link between check and use leads nowhere. The last name is never followed if it is a link, and
 * only regular files are read or replaced.
 */
import { constants } from 'node:fs'
import { lstat, mkdir, open, realpath, type FileHandle } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { NotApplied } from '@pawl/core'
import { z } from 'zod'

/** Where undo keeps what was there before. Calls cannot name it. */
export const undoFolder = '.pawl-undo'

export const jailedPath = z.string().max(1_000).superRefine((path, issue) => {
  const segments = path.split('/')
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  const isPlain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..') && !/[\u0000-\u001f\\]/.test(path)
  if (!isPlain || segments[0]?.toLowerCase() === undoFolder) {
    issue.addIssue({ code: 'custom', message: `"${path}" is not a path inside the root. Write it relative to the root, with "/", without ".." or a leading "/".` })
  }
})

export interface Place {
  /** The file, reached through its open parent. */
  readonly path: string
  readonly folder: FileHandle
}

/** Runs `work` on a place inside the root. `create`: missing parents are made. */
export async function inJail<T>(root: string, path: string, create: boolean, work: (place: Place) => Promise<T>): Promise<T> {
  const realRoot = await realpath(root).catch((cause: unknown) => {
    throw new NotApplied(`the root ${root} does not exist.`, { cause })
  })
  const parent = join(realRoot, dirname(path))
  if (create) await makeFolders(realRoot, dirname(path))
  const folder = await open(parent, constants.O_RDONLY | constants.O_DIRECTORY).catch((cause: unknown) => {
    throw new NotApplied(`there is no folder "${dirname(path)}".`, { cause })
  })
  try {
    const base = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : parent
    if ((await realpath(base)) !== parent) throw new NotApplied(`"${path}" lies beyond a symbolic link.`)
    return await work({ path: join(base, path.slice(path.lastIndexOf('/') + 1)), folder })
  } finally {
    await folder.close()
  }
}

/** One level at a time, so that a link on the way is seen before anything is made behind it. */
async function makeFolders(realRoot: string, relative: string): Promise<void> {
  if (relative === '.') return
  let at = realRoot
  for (const segment of relative.split('/')) {
    at = `${at}${sep}${segment}`
    await mkdir(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    const entry = await lstat(at)
    if (!entry.isDirectory()) throw new NotApplied(`"${relative}" is not a folder, or lies beyond a symbolic link.`)
  }
}

/** The content of a regular file, or undefined where there is none. Links and devices are refused. */
export async function readRegular(place: Place, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
  const file = await openRegular(place)
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    if (size > maxBytes) throw new NotApplied(`the file has ${size} bytes, more than the ${maxBytes} allowed.`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

async function openRegular(place: Place): Promise<FileHandle | undefined> {
  // Non-blocking, or opening a named pipe would wait for its writer.
  const file = await open(place.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    if (error.code === 'ELOOP') throw new NotApplied('it is a symbolic link.', { cause: error })
    throw new NotApplied(`it cannot be opened: ${error.message}`, { cause: error })
  })
  if (file && !(await file.stat()).isFile()) {
    await file.close()
    throw new NotApplied('it is not a regular file.')
  }
  return file
}
