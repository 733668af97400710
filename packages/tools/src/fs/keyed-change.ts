/**
 * What a file tool knows about one call, kept beside the files: what was there when the call was first made, and a copy
 * of it. Written durably and once (by link, which fails if it is there) before the file is touched. It turns every change
 * into one with a precondition: a repeated or late call acts only if the very file the first call found is still there, so
 * nothing newer is ever overwritten, be its content the same; and it is what undo restores.
 *
 * A write also keeps the one file it will put in place. Only one rename can take it there, whoever calls how often; that it
 * is gone proves that it was put in place, also when somebody has taken it away since.
 */
import { createHash, randomUUID } from 'node:crypto'
import { access, link, lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NotApplied, sha256 } from '@pawl/core'
import { undoFolder, type Place } from './jail.ts'

export const hashOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

export interface KeyedChange {
  /** Hash of what the first call found, null where there was no file. */
  readonly before: string | null
  /** The file itself, as `idOf` tells it; null where there was none. */
  readonly id: string | null
  /** The file a write puts in place. */
  readonly next?: string
}

/** A file and its state: another one once it was replaced, written, linked or removed and made anew, even with the same content. Null: none. */
export const idOf = (place: Place): Promise<string | null> =>
  lstat(place.path, { bigint: true }).then(({ ino, ctimeNs }) => `${ino}:${ctimeNs}`, () => null)

/**
 * The call's record: made now, or as the first call of this key made it.
 * @param id taken before `content` was read
 * @param next what a write will put in place
 */
export async function recordChange(root: string, key: string, id: string | null, content: Buffer | undefined, next?: { content: Uint8Array; mode: number }): Promise<KeyedChange> {
  const folder = join(root, undoFolder)
  const existing = await readChange(root, key)
  if (existing) return existing
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (content) await writeDurably(join(folder, hashOf(content)), content)
  const own = next && `${randomUUID()}.next`
  if (next && own) await writeSynced(join(folder, own), next.content, next.mode)
  const change: KeyedChange = { before: content ? hashOf(content) : null, id: content ? id : null, ...(own ? { next: own } : {}) }
  await writeDurably(recordPath(root, key), Buffer.from(JSON.stringify(change)))
  // Somebody with the same key may have been first: what is in the file counts.
  const kept = (await readChange(root, key)) ?? change
  if (own && kept.next !== own) await rm(join(folder, own), { force: true })
  return kept
}

/** True: this call or a twin of it has put its file in place. */
export const isInPlace = (root: string, { next }: KeyedChange): Promise<boolean> =>
  next === undefined ? Promise.resolve(false) : access(join(root, undoFolder, next)).then(() => false, (error: NodeJS.ErrnoException) => error.code === 'ENOENT')

/** Puts the call's file in place, once. `check` runs when nothing but the rename is left; if it throws or says `done` nothing is changed. */
export async function putInPlace(root: string, { next = '' }: KeyedChange, place: Place, check: () => Promise<'go' | 'done'>): Promise<void> {
  if ((await check()) === 'go') {
    await rename(join(root, undoFolder, next), place.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EXDEV') throw new NotApplied('its folder is on another file system than the root. Make a tool whose root is that folder.', { cause: error })
      // Gone: a twin of this call was first.
      if (error.code !== 'ENOENT') throw error
    })
  }
  await place.folder.sync()
}

const recordPath = (root: string, key: string): string => join(root, undoFolder, `${sha256(key)}.json`)

/** The record of a call, or undefined where none was made. */
export async function readChange(root: string, key: string): Promise<KeyedChange | undefined> {
  const text = await readFile(recordPath(root, key), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : (JSON.parse(text) as KeyedChange)
}

/** What `recordChange` kept. */
export const readKept = (root: string, hash: string): Promise<Buffer> => readFile(join(root, undoFolder, hash))

/** A file that appears whole or not at all, and stays if it is there already. */
async function writeDurably(path: string, content: Buffer): Promise<void> {
  const temporary = `${path}.${randomUUID()}`
  try {
    await writeSynced(temporary, content, 0o600)
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  const folder = await open(dirname(path))
  await folder.sync()
  await folder.close()
}

async function writeSynced(path: string, content: Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}
