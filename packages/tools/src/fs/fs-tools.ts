/**
 * `fs.read`, `fs.write`, `fs.move`, `fs.remove` below one root, and `fs.restore`, the inverse of write and remove.
 *
 * Effect classes. `read` changes nothing. The others set a state, and an unconditional state-set may not be repeated at
 * once: a late first call could overwrite something newer. So each call first keeps, under its key, what it found
 * (`keyed-change.ts`), and acts only while that very file is still there, not one made anew with the same content. Repeated,
 * it finds what it did (done), the file it found first (acts), or something else (refuses: somebody else was here since).
 * That is `idempotent` with a `precondition`, and may be called again at once. A write is one rename of one kept file, so
 * two calls never write twice, whatever became of the file in between. Over other people's changes the check and the change
 * are two system calls; a process frozen just between them is the one gap (Pawl's known hole).
 */
import type { Tool } from '../define-tool.ts'
import { fsMove, type MoveInput, type MoveResult } from './fs-move.ts'
import { fsRead, type ReadInput, type ReadResult } from './fs-read.ts'
import { fsRemove, type RemoveInput, type RemoveResult } from './fs-remove.ts'
import { fsRestore, type RestoreInput, type RestoreResult } from './fs-restore.ts'
import { fsWrite, type WriteInput, type WriteResult } from './fs-write.ts'

export interface FsOptions {
  /** Everything happens below this folder, on its file system. It must exist. */
  readonly root: string
  /** The largest file read or written. Default 10 MB. */
  readonly maxBytes?: number
}

export interface FsTools {
  readonly read: Tool<ReadInput, ReadResult>
  readonly write: Tool<WriteInput, WriteResult>
  readonly move: Tool<MoveInput, MoveResult>
  readonly remove: Tool<RemoveInput, RemoveResult>
  readonly restore: Tool<RestoreInput, RestoreResult>
}

export function fsTools(options: FsOptions): FsTools {
  const rules = { root: options.root, maxBytes: options.maxBytes ?? 10_000_000 }
  const restore = fsRestore(rules)
  return { read: fsRead(rules), write: fsWrite(rules, restore), move: fsMove(rules), remove: fsRemove(rules, restore), restore }
}
