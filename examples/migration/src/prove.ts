/**
 * What is asked of the finished output folder: that the migrated modules load as they lie there, that none of them is a
 * wrapper, and that together, each on the migrated others, they still behave as the originals. The check before
 * each commit judged every module alone; this is the other half.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { findLeftovers } from './check.ts'
import { findDifference } from './compare.ts'
import { makeReceivers, receiverClasses } from './receivers.ts'
import { isShim } from './shim.ts'

export interface Loads {
  /** How many of the done modules loaded with a default export, in a process of their own. */
  readonly loaded: number
  /** Done modules that did not, with the reason. */
  readonly failed: readonly { readonly path: string; readonly reason: string }[]
  /** Done modules that are still a shim or contain `require(` or `module.exports`. */
  readonly wrappers: readonly string[]
  /** Shims still in the folder: the places of the modules that were not migrated. */
  readonly left: readonly string[]
}

const answer = z.object({ loaded: z.number(), failed: z.array(z.object({ path: z.string(), reason: z.string() })) })

const loader = `
  const done = JSON.parse(await new Response(process.stdin).text())
  const failed = []
  for (const { path, url } of done) {
    try {
      if (!('default' in await import(url))) failed.push({ path, reason: 'no default export' })
    } catch (thrown) {
      failed.push({ path, reason: String(thrown) })
    }
  }
  process.stdout.write(JSON.stringify({ loaded: done.length - failed.length, failed }))
`

/** @param done file names of the modules the run says are migrated */
export async function proveLoads(outFolder: string, done: readonly string[]): Promise<Loads> {
  const read = (path: string): string => readFileSync(join(outFolder, path), 'utf8')
  const wrappers = done.filter((path) => isShim(read(path)) || findLeftovers(read(path)).length > 0)
  const left = readdirSync(outFolder).filter((path) => path.endsWith('.js') && isShim(read(path)))
  const child = spawn(process.execPath, ['--input-type=module', '--eval', loader], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(done.map((path) => ({ path, url: urlOf(outFolder, path) }))))
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number | null]>])
  if (code !== 0) throw new Error(`The process that loads the migrated modules ended with code ${String(code)} before it could answer; its error is above.`)
  return { ...answer.parse(JSON.parse(printed)), wrappers, left }
}

/**
 * Runs the fixed calls over the done modules where they lie. Call it once per process and folder: what it imports stays
 * cached. @returns every module that differs from its original, with the first difference
 */
export async function proveBehaviour(target: { outFolder: string; originalFolder: string; done: readonly string[]; limitMs?: number }): Promise<{ path: string; reason: string }[]> {
  const { outFolder, originalFolder, done, limitMs = 10_000 } = target
  const require = createRequire(join(resolve(originalFolder), 'package.json'))
  const original = (path: string): unknown => require(`./${path}`)
  const migrated = async (path: string): Promise<unknown> => (await import(urlOf(outFolder, path)) as { default: unknown }).default
  const classes = new Map(await Promise.all(receiverClasses.map(async (path) => [path as string, await migrated(path)] as const)))
  const receivers = { original: makeReceivers(original), migrated: makeReceivers((path) => classes.get(path)) }
  const compared = new Map<unknown, unknown>()
  const differing: { path: string; reason: string }[] = []
  for (const path of done) {
    const reason = findDifference({
      path, limitMs, compared,
      originalSource: readFileSync(join(originalFolder, path), 'utf8'),
      migrated: { value: await migrated(path), receivers: receivers.migrated },
      original: { value: original(path), receivers: receivers.original },
    })
    if (reason !== undefined) differing.push({ path, reason })
  }
  return differing
}

function urlOf(folder: string, path: string): string {
  return pathToFileURL(resolve(folder, path)).href
}
