/** A file that is there whole, or not at all: written beside its place, and moved there at its end. What is at that place stays as it was until then. */
import { rmSync } from 'node:fs'
import { open, rename, type FileHandle } from 'node:fs/promises'
import { PawlError } from '@pawl/core'
import { UsageError } from './fail.ts'

const portion = 65_536

export class WholeFile {
  #text = ''

  private constructor(private readonly path: string, private readonly draft: string, private readonly handle: FileHandle) {}

  /** Refuses a place where nothing can be written before anything else is asked of anybody. */
  static async open(path: string, option: string): Promise<WholeFile> {
    const draft = `${path}.${process.pid}.part`
    try {
      return new WholeFile(path, draft, await open(draft, 'w'))
    } catch (error) {
      throw new UsageError(`${option}: ${path} cannot be written (${codeOf(error)}). Name a file in a folder that is there and that you may write to.`)
    }
  }

  async add(text: string): Promise<void> {
    this.#text += text
    if (this.#text.length >= portion) await this.#write()
  }

  /** All of it is there, and on the disk. */
  async keep(): Promise<void> {
    await this.#write()
    await this.#orSay(async () => {
      await this.handle.sync()
      await this.handle.close()
      await rename(this.draft, this.path)
    })
  }

  /** For the end, whichever it is: of what was not kept nothing stays. */
  async drop(): Promise<void> {
    await this.handle.close().catch(() => undefined)
    rmSync(this.draft, { force: true })
  }

  async #write(): Promise<void> {
    const text = this.#text
    this.#text = ''
    await this.#orSay(() => this.handle.appendFile(text))
  }

  async #orSay(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      throw new PawlError('NOT_WRITTEN', `${this.path} could not be written to its end (${codeOf(error)}), so it is as it was before. Make room, or name another place.`, 'tell', {}, { cause: error })
    }
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)
