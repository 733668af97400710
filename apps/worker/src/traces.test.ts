/** One trace from the start of a run to its finalizer, over processes that die; what is logged and counted on the way. Real processes of the built producer and worker. */
import type { Run } from '@pawl/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTraced, until, urlIn, type ReceivedSpan, type TracedGround } from './traced-ground.testsuite.ts'

const canaries = ['canary-item', 'canary-secret', 'canary-receipt', 'canary-answer', 'canary-system']
const ended = ['completed', 'completed_with_failures', 'failed', 'cancelled']

describe('a run whose worker is killed in the middle of a call', () => {
  let ground: TracedGround
  let runId: string
  let killed: number
  let metrics: string
  let run: Run
  beforeAll(async () => {
    ground = await openTraced(2, 'answers')
    ground.held.add('stuck')
    runId = (await ground.pawl.startRun('traced', { items: ['one', 'two', 'stuck', 'think'], secret: 'canary-secret' }, { version: '1' })).id
    killed = (await until('the held call is made', () => ground.calls.find((call) => call.about === 'stuck'))).pid
    // What was done before is told by now: a killed process takes its last second along.
    await until('what it did before is told', () => ground.spans.some((span) => span.name === 'pawl.action traced.keyed' && span.pid === killed))
    ground.held.clear()
    process.kill(killed, 'SIGKILL')
    await until('the run ends', async () => ended.includes((await ground.pawl.getRun(runId)).status))
    await until('the finalizer is told', () => ground.spans.some((span) => span.name === 'pawl.finalize'))
    metrics = await (await fetch(`${await urlIn(ground.lines, 'supervisor')}/metrics`)).text()
    run = await ground.pawl.getRun(runId)
    await ground.stop()
  }, 300_000)
  afterAll(async () => { await ground.close() }, 60_000)

  const named = (name: string): ReceivedSpan[] => ground.spans.filter((span) => span.name === name)

  test('every span of it, of every process, is in one trace, from the start to the finalizer', () => {
    expect(run).toMatchObject({ status: 'completed', tally: { done: 4, total: 4 } })
    expect(new Set(ground.spans.map((span) => span.traceId)).size).toBe(1)
    expect(new Set(ground.spans.map((span) => span.service))).toEqual(new Set(['pawl-producer', 'pawl-worker', 'pawl-supervisor']))
    for (const name of ['pawl.startRun', 'pawl.dispatch', 'pawl.split', 'pawl.attempt', 'pawl.action traced.keyed', 'pawl.settle', 'chat planned-1', 'pawl.finalize']) expect(named(name), name).not.toEqual([])
    const [root] = named('pawl.startRun')
    expect(root?.parentSpanId ?? '').toBe('')
    for (const span of [...named('pawl.attempt'), ...named('pawl.dispatch'), ...named('pawl.finalize'), ...named('pawl.split')]) expect(span).toMatchObject({ parentSpanId: root?.spanId, attributes: { 'pawl.run.id': runId } })
  })

  test('no span hangs in the air: that of the killed attempt is ended for it, and its successor points at it', () => {
    const ids = new Set(ground.spans.map((span) => span.spanId))
    expect(ground.spans.filter((span) => (span.parentSpanId ?? '') !== '' && !ids.has(span.parentSpanId ?? '')).map((span) => span.name)).toEqual([])
    const dead = named('pawl.attempt').filter((span) => span.attributes['pawl.verdict'] === 'killed')
    expect(dead.length).toBeGreaterThan(0)
    for (const span of dead) {
      expect(span).toMatchObject({ service: 'pawl-supervisor', status: { code: 2 } })
      const next = ground.spans.find((one) => one.attributes['pawl.item.seq'] === span.attributes['pawl.item.seq'] && one.attributes['pawl.epoch'] === Number(span.attributes['pawl.epoch']) + 1)
      expect(next?.links).toMatchObject([{ traceId: span.traceId, spanId: span.spanId }])
    }
  })

  test('an action tells its bracket, a turn what it cost, a settling what came of it', () => {
    const whole = named('pawl.action traced.keyed').find((span) => span.events.length === 4)
    expect(whole?.events.map((event) => event.name)).toEqual(['intent', 'send', 'returned', 'completion'])
    expect(ground.spans.filter((span) => span.status.message === 'the attempt was over').map((span) => span.name)).toEqual([])
    expect(whole?.attributes).toMatchObject({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'traced.keyed', 'pawl.effect': 'idempotent' })
    expect(named('chat planned-1')[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'planned-1', 'gen_ai.provider.name': 'planned', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 10, 'pawl.turn': 1,
    })
    expect(named('pawl.settle')[0]?.attributes).toMatchObject({ 'pawl.settled': 'applied', 'gen_ai.tool.name': 'traced.keyed' })
  })

  test('neither spans nor log lines hold what is a run\'s own: keys, arguments, results, prompts', () => {
    const told = [...ground.bodies, ...ground.lines].join('\n')
    expect(canaries.filter((canary) => told.includes(canary))).toEqual([])
  })

  test('logs are one JSON object a line, and lines about work say where, in which attempt and in which trace', () => {
    const entries = ground.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    const traceId = ground.spans[0]?.traceId
    const place = { run: runId, item: expect.any(Number) as number, attempt: expect.any(Number) as number, epoch: expect.any(Number) as number, trace: traceId }
    const ends = entries.filter((entry) => String(entry['msg']).startsWith('attempt ended: done'))
    expect(ends.length).toBeGreaterThanOrEqual(4)
    for (const entry of ends) expect(entry).toMatchObject(place)
    const intents = entries.filter((entry) => String(entry['msg']).startsWith('intent traced.keyed'))
    expect(intents.length).toBeGreaterThan(0)
    for (const entry of intents) expect(entry).toMatchObject({ ...place, action: expect.any(Number) as number })
    expect(entries.find((entry) => entry['msg'] === 'run started')).toMatchObject({ name: 'producer', run: runId, trace: traceId })
    expect(entries.find((entry) => entry['pid'] === killed && entry['signal'] === 'SIGKILL')).toBeDefined()
  })

  test('the supervisor\'s metrics are those of its processes together, the dead one among them', () => {
    const value = (line: string): number => Number(metrics.split('\n').find((one) => one.startsWith(`${line} `))?.split(' ')[1])
    expect(value('pawl_worker_deaths_total')).toBe(1)
    expect(value('pawl_worker_processes')).toBeGreaterThanOrEqual(1)
    expect(value('pawl_attempts_total{agent="traced",kind="work",verdict="done"}')).toBeGreaterThanOrEqual(1)
    expect(value('pawl_settled_total{agent="traced",outcome="applied"}')).toBeGreaterThanOrEqual(1)
    for (const name of ['pawl_flush_items_count', 'pawl_flush_seconds_count', 'pawl_dispatch_lag_seconds_count', 'pawl_worker_resident_bytes']) expect(value(name), name).toBeGreaterThan(0)
  })
})

describe.each(['silent', 'away'] as const)('a collector that is %s', (collector) => {
  test('neither stops a run nor a process, and is told of once', async () => {
    const ground = await openTraced(1, collector)
    try {
      const items = Array.from({ length: 20 }, (_, i) => `item ${i}`)
      const { id } = await ground.pawl.startRun('traced', { items, secret: 'canary-secret' }, { version: '1' })
      await until('the run ends', async () => ended.includes((await ground.pawl.getRun(id)).status))
      expect(await ground.pawl.getRun(id)).toMatchObject({ status: 'completed', tally: { done: 20 } })
      expect(ground.calls.length).toBe(41)
      const complaint = 'traces cannot be handed on'
      await until('the collector\'s absence is told', () => ground.lines.some((line) => line.includes(complaint)))
      // The last spans are worth two seconds, not more; the rest of a stop has its own graces.
      expect(await ground.stop()).toBeLessThan(20_000)
      const tellers = ground.lines.filter((line) => line.includes(complaint)).map((line) => (JSON.parse(line) as { pid: number }).pid)
      expect(tellers.length).toBe(new Set(tellers).size)
    } finally {
      await ground.close()
    }
  }, 300_000)
})
