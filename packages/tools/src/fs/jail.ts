/**
 * Paths that cannot leave the root. Names are checked first; then the folders are opened one after the other, none of them
 * a link, each *through the one before it* (on Linux by `/proc/self/fd`), and the file through the last: a folder swapped
 * for a symbolic link at any moment leads nowhere. The last name is never followed if it is a link, and
 * only regular files are read or replaced.
 */
import { constants } from 'node:fs'
import { mkdir, open, realpath, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
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
  const at = path.lastIndexOf('/')
  const { folder, through } = await openParent(realRoot, at === -1 ? [] : path.slice(0, at).split('/'), create)
  try {
    return await work({ path: join(through, path.slice(at + 1)), folder })
  } finally {
    await folder.close()
  }
}

interface OpenFolder {
  readonly folder: FileHandle
  /** Leads to this very folder, whatever has its name by now. */
  readonly through: string
}

/** One level at a time, each name looked up (and made) in the folder that was opened before it: a link on the way is never followed, not even by what is made. */
async function openParent(realRoot: string, segments: readonly string[], create: boolean): Promise<OpenFolder> {
  let here = await openFolder(realRoot, realRoot)
  for (const [i, segment] of segments.entries()) {
    const { folder } = here
    const name = segments.slice(0, i + 1).join('/')
    try {
      const next = join(here.through, segment)
      if (create) await mkdir(next).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error })
      here = await openFolder(next, join(realRoot, name), name)
    } finally {
      await folder.close()
    }
  }
  return here
}

async function openFolder(path: string, named: string, name = '.'): Promise<OpenFolder> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((cause: NodeJS.ErrnoException) => {
    throw new NotApplied(cause.code === 'ENOENT' ? `there is no folder "${name}".` : `"${name}" is not a folder, or is a symbolic link.`, { cause })
  })
  if (process.platform === 'linux') return { folder, through: `/proc/self/fd/${folder.fd}` }
  // Elsewhere a folder is reached by its name again; that the name still leads here is looked at once.
  if ((await realpath(named)) === named) return { folder, through: named }
  await folder.close()
  throw new NotApplied(`"${name}" lies beyond a symbolic link.`)
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
