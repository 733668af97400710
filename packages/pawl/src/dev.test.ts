/** What `pawl dev` watches, and what is on its screen; the services themselves are in services.test.ts. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { moduleFiles } from './dev/module-files.ts'
import { paint } from './dev/picture.ts'
import { Replaceable } from './dev/replaceable.ts'
import { openScreen } from './dev/screen.ts'
import type { Dev } from './dev/start-dev.ts'
import { watchFiles, type FileWatch } from './dev/watch-files.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-dev-'))) })
afterEach(() => { rmSync(folder, { recursive: true, force: true }) })

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

describe('the files a config is made of', () => {
  test('are what it imports, again and again, by whatever ending; no package, no file that nobody imports', () => {
    const entry = write('pawl.config.ts', `import { defineConfig } from 'pawl'\nimport { a } from './agents/a.js'\nexport * from "./agents/b"\nconst c = await import('./c.mjs')\nimport d from './deep'\n`)
    const expected = [
      entry, write('agents/a.ts', `import { t } from '../tools.ts'\nimport '../pawl.config.ts'`), write('agents/b.ts', ''), write('c.mjs', `import p from './prompt.json' with { type: 'json' }`),
      write('deep/index.ts', ''), write('tools.ts', `import x from './gone.ts'`), write('prompt.json', '{}'),
    ]
    write('letters/out.ts', '')
    expect(moduleFiles(entry)).toEqual(expected.toSorted())
  })
})

describe('watched files', () => {
  let watching: FileWatch | undefined
  afterEach(() => { watching?.close() })

  /** The next change that is told. */
  function heard(): { follow: FileWatch['follow']; next(): Promise<readonly string[]> } {
    const changes: (readonly string[])[] = []
    let wake: () => void = () => undefined
    const mine = watchFiles((files) => { changes.push(files); wake() })
    watching = mine
    return {
      follow: (files) => { mine.follow(files) },
      async next() {
        if (changes.length === 0) await new Promise<void>((resolve) => { wake = resolve })
        return changes.shift() ?? []
      },
    }
  }

  test('a save is told once with its file, one that moves a new file into place too; a neighbour and a save without a change are not', async () => {
    const [a, b] = [write('a.ts', '1'), write('b.ts', '1')]
    const changes = heard()
    changes.follow([a, b])
    writeFileSync(join(folder, 'letter.txt'), 'x')
    writeFileSync(a, '1')
    writeFileSync(b, '2')
    expect(await changes.next()).toEqual([b])
    writeFileSync(join(folder, 'a.new'), '3')
    renameSync(join(folder, 'a.new'), a)
    expect(await changes.next()).toEqual([a])
  })

  test('what changed while it was not yet followed anew is told', async () => {
    const a = write('a.ts', '1')
    const changes = heard()
    changes.follow([a])
    watching?.close()
    writeFileSync(a, '2')
    changes.follow([a])
    expect(await changes.next()).toEqual([a])
  })
})

describe('the screen', () => {
  const dev: Dev = { agents: ['letters@1'], queue: 'postgres', folder: '/x/.pawl/dev', adopted: false, producerUrl: 'http://127.0.0.1:3000', dashboardUrl: 'http://127.0.0.1:3001', loginUrl: 'http://127.0.0.1:3001/login?key=k', pids: [1] }
  const bare = (lines: readonly string[]): string => stripVTControlCharacters(lines.join('\n'))

  test('says where everything is, what to do first, how many processes are there, and the newest news', () => {
    const text = bare(paint({ dev, agents: ['letters@2'], processes: 2, now: { runs: [], waiting: 0, isMore: false }, log: ['1', '2', '3', '4', '5', '6', 'seven\u001b[2J'] }))
    for (const part of ['letters@2', 'http://127.0.0.1:3001/login?key=k', 'http://127.0.0.1:3000', '1 of 2 processes so far', "pawl run start letters --input '{…}' --watch", 'Nothing waits for you', 'Ctrl-C', 'seven⟨U+001B⟩[2J']) expect(text).toContain(part)
    expect(text).not.toMatch(/^1$/m)
    expect(bare(paint({ dev, agents: [], processes: 1, now: { runs: [], waiting: 100, isMore: true }, log: [] }))).toMatch(/names no agent yet[\s\S]*100\+ wait for you/)
  })

  test('a picture is cut to the terminal, drawn over the one before, and leaves the cursor as it was', () => {
    const written: string[] = []
    const terminal = { rows: 4, columns: 10, write: (text: string) => written.push(text), on: () => undefined, off: () => undefined } as unknown as NodeJS.WriteStream
    const screen = openScreen(terminal)
    screen.draw(['short', 'a line that is too long', '3', '4', '5'])
    const last = written.at(-1) ?? ''
    expect(stripVTControlCharacters(last)).toBe('short\na line th…\n3\n')
    expect(last.startsWith('\u001b[H')).toBe(true)
    screen.end()
    screen.end()
    expect(written.filter((text) => text.includes('\u001b[?25h'))).toHaveLength(1)
  })
})

test('a service is replaced after it has ended, one replacement at a time, and not at all once all is stopped', async () => {
  const told: string[] = []
  let n = 0
  const service = await Replaceable.start(async (before?: number) => { told.push(`start ${n + 1}${before === undefined ? '' : ` after ${before}`}`); return ++n }, async (each) => { told.push(`end ${each}`) })
  await Promise.all([service.replace(), service.replace()])
  await Promise.all([service.stop(), service.replace()])
  expect(told).toEqual(['start 1', 'end 1', 'start 2 after 1', 'end 2', 'start 3 after 2', 'end 3'])
  expect(service.current).toBe(3)
})

test('docs/cli.md shows the transcripts as they were taken', () => {
  const docs = new URL('../../../docs/', import.meta.url).pathname
  const page = readFileSync(join(docs, 'cli.md'), 'utf8')
  const shown = [...page.matchAll(/<!-- transcripts\/(.*?\.txt) -->\n```text\n([\s\S]*?)\n?```/g)].map(([, name = '', text = '']) => [name, text])
  expect(shown.map(([name]) => name).toSorted()).toEqual(readdirSync(join(docs, 'transcripts')).toSorted())
  for (const [name = '', text = ''] of shown) expect(`${text}\n`, name).toBe(readFileSync(join(docs, 'transcripts', name), 'utf8'))
})
