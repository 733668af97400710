/**
 * What telemetry costs a tool call: nothing asked for, metrics, metrics and traces to a collector on this machine. A harness of its own on an embedded Postgres,
 * one process for each, in turns; the time of its CPU, since other work on the machine does not count into that. And the parts alone, without a ledger.
 * `npm run bench:telemetry [-- --json]`, after `npm run compile`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const dist = (path) => new URL(`../../${path}`, import.meta.url).href
const items = Number(process.env['BENCH_ITEMS'] ?? 400)
const callsPerItem = 10
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const modes = ['off', 'metrics', 'metrics and traces']

if (process.argv[2] === 'run') await runOne(JSON.parse(process.argv[3]))
else await main()

async function main() {
  const { startEmbedded } = await import(dist('packages/embedded/dist/index.js'))
  const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-'))
  const postgres = await startEmbedded({ folder: join(folder, 'data'), log: () => {} })
  let spans = 0
  const collector = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    spans += JSON.parse(body).resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans)).length
    response.setHeader('content-type', 'application/json').end('{}')
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const results = Object.fromEntries(modes.map((mode) => [mode, []]))
  try {
    for (let round = 0; round < rounds; round++) {
      for (const mode of modes) {
        results[mode].push(await measure({ mode, url: postgres.url, endpoint: `http://127.0.0.1:${collector.address().port}`, name: `bench_${process.pid}_${round}_${modes.indexOf(mode)}` }))
      }
    }
  } finally {
    collector.close()
    await postgres.release()
    rmSync(folder, { recursive: true, force: true })
  }
  const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
  const rows = modes.map((mode) => ({ mode, cpuUs: median(results[mode].map((one) => one.cpuUs)), wallUs: median(results[mode].map((one) => one.wallUs)), partsNs: median(results[mode].map((one) => one.partsNs)) }))
  if (process.argv.includes('--json')) return process.stdout.write(`${JSON.stringify({ items, callsPerItem, rounds, spans, rows })}\n`)
  process.stdout.write(`${items * callsPerItem} tool calls that do nothing, ${rounds} times each, medians; ${spans} spans received\n\n`)
  process.stdout.write('                      CPU per call   wall per call   telemetry of one call alone\n')
  for (const { mode, cpuUs, wallUs, partsNs } of rows) process.stdout.write(`${mode.padEnd(20)}${cpuUs.toFixed(0).padStart(9)} µs${wallUs.toFixed(0).padStart(13)} µs${(partsNs / 1_000).toFixed(2).padStart(20)} µs\n`)
}

async function measure(given) {
  const child = fork(fileURLToPath(import.meta.url), ['run', JSON.stringify(given)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [answer] = await once(child, 'message')
  await once(child, 'exit')
  return answer
}

async function runOne({ mode, url, endpoint, name }) {
  const [{ Ledger, migrateLedger, readIdentity, startRun, getRun }, { connectQueue }, { defineAgent, dispatchRun, Harness }, { defineTool }, { newRunId, encode }, { z }, { default: pino }] = await Promise.all([
    import(dist('packages/ledger/dist/index.js')), import(dist('packages/queue/dist/index.js')), import(dist('packages/harness/dist/index.js')), import(dist('packages/tools/dist/index.js')), import(dist('packages/core/dist/index.js')), import('zod'), import('pino'),
  ])
  const log = pino({ level: 'silent' })
  const stop = mode.includes('traces') ? await (await import(dist('apps/worker/dist/traces.js'))).startTraces({ endpoint, service: 'bench', instance: name }, log) : async () => {}
  const observe = mode === 'off' ? undefined : (await import(dist('apps/worker/dist/child-figures.js'))).countHere(() => 0).observe
  const maker = new Ledger({ url, connections: 1 })
  await maker.query(`create database ${name}`)
  await maker.close()
  const place = Object.assign(new URL(url), { pathname: `/${name}` }).href
  const ledger = new Ledger({ url: place })
  await migrateLedger(ledger)
  const { id: ledgerId } = await readIdentity(ledger)
  const queue = connectQueue({ backend: 'postgres', url: place, ledgerId, onError: () => {} })
  await queue.ready()
  const nothing = defineTool({
    name: 'bench.nothing', version: '1', description: 'Does nothing', effect: 'idempotent', inputSchema: z.object({ n: z.number() }), outputSchema: z.object({ n: z.number() }), execute: async ({ n }) => ({ n }),
  })
  const agent = defineAgent({
    name: 'bench', version: '1', inputSchema: z.null(), payloadSchema: z.number(), tools: { nothing },
    *split() { for (let i = 0; i < items; i++) yield { key: `i${i}`, payload: i } },
    async run({ tools }) { for (let n = 0; n < callsPerItem; n++) await tools.nothing({ n }) },
  })
  const harness = await Harness.start({ ledger, queue, agents: [agent], concurrency: 20, roles: ['items', 'splits'], log: () => {}, ...(observe ? { observe } : {}) })
  const id = newRunId()
  const begun = { cpu: process.cpuUsage(), wall: performance.now() }
  await startRun(ledger, {
    id, namespace: 'default', key: null, digest: null, agent: 'bench', agentVersion: '1', modelVersion: null, promptVersion: null, schemaVersion: 1, lockDigest: null, input: encode(null, { what: 'input' }), labels: {}, policy: {}, createdBy: 'bench', split: true,
  })
  await dispatchRun({ ledger, queue, ledgerId }, id)
  while ((await getRun(ledger, id, null)).status !== 'completed') await new Promise((resolve) => setTimeout(resolve, 100))
  const { user, system } = process.cpuUsage(begun.cpu)
  const wall = performance.now() - begun.wall
  const partsNs = await measureParts(observe)
  await harness.stop(1_000)
  await queue.close()
  await ledger.close()
  await stop()
  const calls = items * callsPerItem
  process.send({ cpuUs: (user + system) / calls, wallUs: (wall * 1_000) / calls, partsNs }, () => process.exit(0))
}

/** What one call tells, without the call. */
async function measureParts(observe = () => {}) {
  const { AttemptTrace } = await import(dist('packages/harness/dist/telemetry/attempt-trace.js'))
  const run = { id: '01890000-0000-7000-8000-000000000000', agent: 'bench', agent_version: '1', trace_parent: null }
  const times = 20_000
  const written = Promise.resolve({ outcome: 'recorded' })
  const once = async () => {
    const trace = new AttemptTrace(run, { seq: 1, kind: 'work', epoch: 1, attempts: 1 })
    const begun = performance.now()
    for (let i = 0; i < times; i++) {
      const key = `k${i}`
      trace.begin({ key, tool: { name: 'bench.nothing', version: '1', effect: 'idempotent' }, undoes: null })
      trace.intended(key, { id: i, attempt: 1 })
      trace.mark(key, 'send')
      trace.sending(key, () => undefined)
      trace.mark(key, 'returned')
      observe('pawl_actions_total', 1, { agent: 'bench', outcome: 'returned' })
      observe('pawl_action_seconds', 0.001)
      trace.completing(key, written)
      trace.returned(key)
      // The microtasks in which completions become durable.
      if (i % 100 === 0) await written
    }
    await new Promise((resolve) => setImmediate(resolve))
    const ms = performance.now() - begun
    trace.end('done')
    return (ms * 1e6) / times
  }
  await once()
  return await once()
}
