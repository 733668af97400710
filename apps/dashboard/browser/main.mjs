#!/usr/bin/env node
/**
 * `npm run test:browser`: the pages in a real Chromium, over a fleet that is being killed. `npm run screenshots`: the same ground, looked at. Without a
 * Chromium nothing is passed over in silence: how many tests did not run is said, and in CI that fails.
 *
 *   node apps/dashboard/browser/main.mjs test|shots [arguments of vitest…]
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../../scripts/find-chromium.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const [what, ...args] = process.argv.slice(2)

/** Why there is none, with the way out. */
function whyNoBrowser() {
  try {
    findChromium()
    return undefined
  } catch (error) {
    return error.message
  }
}

const why = whyNoBrowser()
if (why !== undefined) {
  const files = readdirSync(here('.')).filter((name) => name.endsWith(what === 'shots' ? '.shots.ts' : '.browser.ts'))
  const count = files.reduce((sum, name) => sum + (readFileSync(here(name), 'utf8').match(/^\s*test(\.each\(.*\))?\(/gm) ?? []).length, 0)
  const line = '='.repeat(80)
  process.stderr.write(`\n${line}\nNOT RUN: ${count} browser tests need a Chromium: ${files.join(', ')}\n${why}\n${line}\n\n`)
  process.exit(process.env['CI'] === 'true' ? 1 : 0)
}
const config = here(what === 'shots' ? 'shots.config.ts' : 'vitest.config.ts')
const child = spawn(process.execPath, [here('../../../node_modules/vitest/vitest.mjs'), 'run', '--config', config, ...args], { stdio: 'inherit' })
child.once('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
