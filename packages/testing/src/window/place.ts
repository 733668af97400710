/** What the world of the browser tests tells its worker processes, and the marks both of them read: a scene that has happened once goes another way then. */
import { existsSync, writeFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

export const windowPlace = z.object({ effectsUrl: z.string(), folder: z.string() })
export type WindowPlace = z.infer<typeof windowPlace>

const fileOf = (folder: string, mark: string): string => join(folder, `mark-${encodeURIComponent(mark)}`)
export const isMarked = (folder: string, mark: string): boolean => existsSync(fileOf(folder, mark))
export const setMark = (folder: string, mark: string): void => writeFileSync(fileOf(folder, mark), '')
export const removeMark = (folder: string, mark: string): void => rmSync(fileOf(folder, mark), { force: true })
