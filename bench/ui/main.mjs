/**
 * A run's page with 100,000 items in a real browser, while a real worker works them off: what it takes until it is there, its longest task, how far it is
 * behind the ledger, and whether its memory stays flat. `npm run bench:ui [-- --items 100000 --minutes 10 --rate 150 --json]`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { createClient } from '../../packages/client/dist/index.js'
import { findChromium } from '../../scripts/find-chromium.mjs'
import { watchPage } from './watch-page.mjs'

const { values } = parseArgs({ options: { items: { type: 'string', default: '100000' }, minutes: { type: 'string', default: '10' }, rate: { type: 'string', default: '150' }, json: { type: 'boolean', default: false }, shot: { type: 'string' } } })
const [items, minutes, rate] = [Number(values.items), Number(values.minutes), Number(values.rate)]
const root = fileURLToPath(new URL('../../', import.meta.url))
const say = (line) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const rounded = (ms) => Math.round(ms)

const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-ui-'))
const slots = Math.max(4, Math.ceil(rate / 4))
const config = join(folder, 'pawl.config.mjs')
writeFileSync(config, `import { defineAgent, defineConfig } from ${JSON.stringify(pathToFileURL(join(root, 'packages/pawl/dist/index.js')).href)}
import { z } from ${JSON.stringify(pathToFileURL(join(root, 'node_modules/zod/index.js')).href)}
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export default defineConfig({ agents: [defineAgent({ name: 'bench', version: '1', inputSchema: z.unknown(), payloadSchema: z.number(), tools: {}, *split() {},
  async run({ payload }) { await wait(${Math.round((slots / rate) * 1_000)}); if (payload % 997 === 0) throw new Error('Number ' + payload + ' is not liked'); return { result: payload } } })] })
`)

const dev = spawn(process.execPath, [join(root, 'packages/pawl/dist/main.js'), 'dev', '--json', '--config', config, '--processes', '1', '--port', '0', '--dashboard-port', '0'], {
  cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PAWL_CONCURRENCY: String(slots), PAWL_DATA_DIR: join(folder, '.pawl') },
})
let browser
try {
  const { producerUrl, loginUrl, dashboardUrl } = JSON.parse(await firstJson(dev.stdout))
  const pawl = createClient({ url: producerUrl })
  const started = await startRun(pawl)
  say(`${items.toLocaleString('en')} items are accepted`)
  await untilDone(pawl, started.id, Math.min(items / 2, 500))

  browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const errors = []
  page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()) })
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto(loginUrl)
  await page.addInitScript(watchPage)
  const address = `${dashboardUrl}/runs/${started.id}`
  const opened = []
  for (let i = 0; i < 5; i++) opened.push(await open(page, address))
  say(`opened 5 times: first paint ${opened.map(({ paint }) => rounded(paint)).join(', ')} ms, with its picture ${opened.map(({ picture }) => rounded(picture)).join(', ')} ms`)

  const live = await watchLive(page, pawl, started.id)
  if (values.shot !== undefined) await page.screenshot({ path: values.shot })
  report({ items, minutes, rate, opened, ...live, errors })
} finally {
  await browser?.close()
  const ended = once(dev, 'exit')
  dev.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
}

/** A machine that is busy with other things may take too long over so many: the same request again is the same run. */
async function startRun(pawl) {
  const seeds = function* () { for (let i = 1; i <= items; i++) yield { key: `item-${i}`, payload: i } }
  for (let tries = 1; ; tries++) {
    try {
      return await pawl.startRunFromStream({ agent: 'bench', policy: { maxFailures: 1 } }, seeds(), { idempotencyKey: 'bench-ui' })
    } catch (error) {
      if (tries === 5 || (error.next !== 'retry' && error.code !== 'STREAM_IN_PROGRESS')) throw error
      say(`the start is asked for again: ${error.message}`)
      await pause(5_000)
    }
  }
}

async function firstJson(stream) {
  let text = ''
  for await (const chunk of stream) {
    text += chunk
    try {
      JSON.parse(text)
      return text
    } catch {
      // not whole yet
    }
  }
  throw new Error(`pawl dev ended before it was up: ${text}`)
}

async function untilDone(pawl, runId, n) {
  while ((await pawl.getRun(runId)).tally.done < n) await pause(200)
}

async function open(page, address) {
  const before = Date.now()
  await page.goto(address, { waitUntil: 'commit' })
  await page.waitForSelector('[role="slider"]')
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0)
  const inPage = await page.evaluate(() => ({ paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, picture: globalThis.pawlWatch.pictureAt }))
  return { ...inPage, whole: Date.now() - before }
}

/** The page's numbers against the ledger's, and its heap by the minute, while the run goes on. */
async function watchLive(page, pawl, runId) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await session.send('HeapProfiler.enable')
  const heapOf = async () => {
    await session.send('HeapProfiler.collectGarbage')
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'JSHeapUsedSize').value / 1_048_576
  }
  const ledger = []
  const heap = []
  const until = Date.now() + minutes * 60_000
  for (let at = Date.now(), minute = -1; at < until; at = Date.now()) {
    ledger.push({ at, done: (await pawl.getRun(runId)).tally.done })
    const now = Math.floor((minutes * 60_000 - (until - at)) / 60_000)
    if (now > minute) {
      minute = now
      heap.push(Math.round((await heapOf()) * 10) / 10)
      say(`minute ${minute}: ${ledger.at(-1).done.toLocaleString('en')} done, heap ${heap.at(-1)} MB`)
    }
    await pause(100)
  }
  const { tasks, bar, picture } = await page.evaluate(() => globalThis.pawlWatch)
  return { heap, longTasks: tasks.length, longestTask: Math.max(0, ...tasks), behind: { numbers: behind(ledger, bar), picture: behind(ledger, picture) } }
}

/**
 * For each change the page showed: how long ago the ledger had first gone beyond what was shown until then. That is the oldest the page was, just before
 * it changed.
 */
function behind(ledger, shown) {
  const ages = []
  for (let i = 1; i < shown.length; i++) {
    const passed = ledger.find(({ done }) => done > shown[i - 1].done)
    if (passed !== undefined && shown[i].at > passed.at) ages.push(shown[i].at - passed.at)
  }
  ages.sort((a, b) => a - b)
  return { changes: ages.length, median: rounded(ages[Math.floor(ages.length / 2)] ?? 0), p99: rounded(ages[Math.floor(ages.length * 0.99)] ?? 0), most: rounded(ages.at(-1) ?? 0) }
}

function report(figures) {
  if (values.json) return process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
  const { opened, behind: { numbers, picture }, heap } = figures
  const median = (of) => rounded(opened.map((each) => each[of]).toSorted((a, b) => a - b)[Math.floor(opened.length / 2)])
  process.stdout.write(`
run page, ${items.toLocaleString('en')} items, ${minutes} min live at about ${rate} items/s
first paint            ${median('paint')} ms (median of ${opened.length}; the picture drawn after ${median('picture')} ms)
longest task           ${rounded(figures.longestTask)} ms (${figures.longTasks} over 50 ms)
behind the ledger      numbers ${numbers.median} ms median, ${numbers.p99} ms p99, ${numbers.most} ms at most (${numbers.changes} changes)
                       picture ${picture.median} ms median, ${picture.p99} ms p99, ${picture.most} ms at most (${picture.changes} changes)
heap by the minute     ${heap.join(', ')} MB
errors on the console  ${figures.errors.length}${figures.errors.length === 0 ? '' : `: ${figures.errors[0]}`}
`)
}
