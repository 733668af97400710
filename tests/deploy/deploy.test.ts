/** What `deploy/` ships is what it says: manifests, alerts and panels about metrics there are, each alert with its runbook; judged by Prometheus's own tool where it is at hand. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { METRICS } from '../../packages/core/src/index.ts'
import { makeMetrics } from '../../apps/producer/src/metrics.ts'
import { describePromtool } from '../setup/fixtures.ts'
import { renderTemplate } from './render-chart.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const docs = read('docs/observability.md')

const rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string(), labels: z.object({ severity: z.enum(['warning', 'critical']) }), annotations: z.object({ summary: z.string(), runbook: z.string() }) }).loose()) })),
}).parse(parse(read('deploy/prometheus/rules.yml'))).groups.flatMap((group) => group.rules)
const panels = z.object({ panels: z.array(z.object({ id: z.number(), title: z.string(), type: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })) }).parse(JSON.parse(read('deploy/grafana/pawl.json'))).panels
const expressions = [...rules.map((rule) => rule.expr), ...panels.flatMap((panel) => panel.targets.map((target) => target.expr))]

describe('metrics', () => {
  test('the docs name every metric with its type, its labels and its meaning, and no other', () => {
    const rows = [...docs.matchAll(/^\| `(pawl_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$/gm)].map(([, name, type, labels, help]) => ({ name, type, labels, help }))
    expect(rows).toEqual(Object.entries(METRICS).map(([name, { type, labels, help }]) => ({ name, type, labels: labels.length === 0 ? '' : labels.map((label) => `\`${label}\``).join(', '), help })))
  })

  test('alerts and panels ask for metrics there are, by labels they have', () => {
    const wrong: string[] = []
    for (const expr of expressions) {
      const names = [...expr.matchAll(/\bpawl_[a-z_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, (suffix) => (name in METRICS ? suffix : '')))
      if (names.length === 0) wrong.push(`${expr}: no metric of Pawl's`)
      for (const name of names) if (!(name in METRICS)) wrong.push(`${expr}: ${name}`)
      const known = new Set(['le', 'instance', 'job', ...names.flatMap((name) => [...(METRICS[name as keyof typeof METRICS]?.labels ?? [])])])
      for (const [, labels = ''] of expr.matchAll(/\bby \(([^)]*)\)/g)) for (const label of labels.split(',').map((one) => one.trim())) if (!known.has(label)) wrong.push(`${expr}: by ${label}`)
      for (const [, label = ''] of expr.matchAll(/[{,](\w+)=~?"/g)) if (!known.has(label)) wrong.push(`${expr}: {${label}}`)
    }
    expect(wrong).toEqual([])
  })

  test('no label can hold what a run brings', () => {
    const bounded = new Set(['agent', 'version', 'status', 'state', 'kind', 'verdict', 'outcome', 'direction', 'method', 'route'])
    expect(Object.values(METRICS).flatMap(({ labels }) => [...labels]).filter((label) => !bounded.has(label))).toEqual([])
  })

  test('every alert has its runbook in the docs', () => {
    expect(rules.map((rule) => rule.annotations.runbook)).toEqual(rules.map((rule) => `docs/observability.md#${rule.alert.toLowerCase()}`))
    expect(rules.filter((rule) => !docs.includes(`\n### ${rule.alert}\n`)).map((rule) => rule.alert)).toEqual([])
  })

  test('panels have ids of their own and something to show', () => {
    expect(new Set(panels.map((panel) => panel.id)).size).toBe(panels.length)
    expect(panels.filter((panel) => panel.type !== 'row' && panel.targets.length === 0).map((panel) => panel.title)).toEqual([])
  })
})

describePromtool('alerts, panels and the metrics themselves', (promtool) => {
  const run = (args: string[], input?: string): string => execFileSync(promtool, args, { cwd: join(root, 'deploy/prometheus'), encoding: 'utf8', ...(input === undefined ? {} : { input }) })

  test('the rules are right, and fire when they should', () => {
    expect(run(['check', 'rules', 'rules.yml'])).toContain(`${rules.length} rules found`)
    expect(run(['test', 'rules', 'rules.test.yml'])).toContain('SUCCESS')
    expect(run(['check', 'config', '--syntax-only', 'scrape.yml'])).toContain('SUCCESS')
  }, 120_000)

  test('every panel asks in PromQL', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-panels-'))
    try {
      const asked = panels.flatMap((panel) => panel.targets).map((target, i) => ({ record: `panel:${i}`, expr: target.expr.replaceAll('$__rate_interval', '5m').replaceAll('$agent', '.*') }))
      writeFileSync(join(folder, 'panels.yml'), JSON.stringify({ groups: [{ name: 'panels', rules: asked }] }))
      expect(run(['check', 'rules', join(folder, 'panels.yml')])).toContain(`${asked.length} rules found`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }, 120_000)

  test('what a producer tells is exposition format, named as Prometheus would have it', async () => {
    const { registry, observe } = makeMetrics(async () => ({ runs: [{ agent: 'a', status: 'running', runs: 1 }], backlog: [], actions: [] }))
    observe('pawl_flush_items', 3)
    const text = await registry.metrics()
    expect(text).toContain('pawl_runs{agent="a",status="running"} 1')
    // It lints all it is given, Node's own metrics too; those are not ours to name.
    expect(run(['check', 'metrics'], text.split('\n').filter((line) => line.includes('pawl_')).concat('').join('\n'))).toBe('')
  }, 120_000)
})

describe('the chart', () => {
  const values = z.record(z.string(), z.unknown()).parse(parse(read('deploy/helm/pawl/values.yaml')))
  const templates = readdirSync(join(root, 'deploy/helm/pawl/templates'))
  const manifest = z.object({ apiVersion: z.string(), kind: z.string(), metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }).loose() }).loose()
  const render = (more: Record<string, unknown> = {}) => templates.flatMap((name) =>
    parseAllDocuments(renderTemplate(read(`deploy/helm/pawl/templates/${name}`), { Values: { ...values, ...more }, Release: { Name: 'prod' } })).map((document) => {
      expect(document.errors, name).toEqual([])
      return document.toJS() as unknown
    })).filter((one) => one !== null).map((one) => manifest.parse(one))
  const deployment = z.object({
    spec: z.object({
      replicas: z.number().optional(), selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
      template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }), spec: z.object({ terminationGracePeriodSeconds: z.number(), containers: z.array(z.object({
        args: z.array(z.string()), env: z.array(z.object({ name: z.string(), value: z.string() })), ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
        readinessProbe: z.object({ httpGet: z.object({ path: z.literal('/ready'), port: z.literal('http') }) }).loose(), lifecycle: z.object({ preStop: z.object({ exec: z.object({ command: z.array(z.string()) }) }) }), resources: z.object({ requests: z.object({ cpu: z.string(), memory: z.string() }) }).loose(),
      }).loose()).length(1) }).loose() }),
    }),
  })

  test('renders to manifests that fit each other', () => {
    const found = render()
    expect(found.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
      'ConfigMap prod-pawl', 'Deployment prod-dashboard', 'Deployment prod-producer', 'Deployment prod-worker', 'Job prod-migrate', 'PodDisruptionBudget prod-producer', 'PodDisruptionBudget prod-worker',
      'ScaledObject prod-worker', 'Service prod-dashboard', 'Service prod-producer', 'TriggerAuthentication prod-scaler',
    ])
    for (const one of found.filter(({ kind }) => kind === 'Deployment')) {
      const { spec } = deployment.parse(one)
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
      const [container] = spec.template.spec.containers
      expect(one.metadata.name).toBe(`prod-${container?.args[0]}`)
      expect(container?.ports[0]?.containerPort).toBe(Number(container?.env.find(({ name }) => name.endsWith('_PORT'))?.value))
    }
    const selectors = found.filter(({ kind }) => kind === 'PodDisruptionBudget' || kind === 'Service').map((one) => z.object({ spec: z.object({ selector: z.record(z.string(), z.unknown()) }).loose() }).parse(one).spec.selector)
    const pods = found.filter(({ kind }) => kind === 'Deployment').map((one) => deployment.parse(one).spec.template.metadata.labels)
    for (const selector of selectors) expect(pods.some((labels) => Object.entries(selector['matchLabels'] ?? selector).every(([name, value]) => labels[name] === value)), JSON.stringify(selector)).toBe(true)
  })

  test('KEDA scales the workers to zero and up by the work the ledger has, in slots of one pod', () => {
    const scaler = z.object({ spec: z.object({ scaleTargetRef: z.object({ name: z.string() }), minReplicaCount: z.number(), triggers: z.array(z.object({ type: z.string(), metadata: z.record(z.string(), z.string()), authenticationRef: z.object({ name: z.string() }) })).length(1) }).loose() })
      .parse(render().find(({ kind }) => kind === 'ScaledObject')).spec
    expect(scaler).toMatchObject({
      scaleTargetRef: { name: 'prod-worker' }, minReplicaCount: 0,
      triggers: [{ type: 'metrics-api', authenticationRef: { name: 'prod-scaler' }, metadata: { url: 'http://prod-producer:3000/v1/backlog', valueLocation: 'work', targetValue: '20', authMode: 'bearer' } }],
    })
    // Two hands on one number would fight.
    expect(deployment.parse(render().find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'prod-worker')).spec.replicas).toBeUndefined()
    const without = render({ keda: { enabled: false } })
    expect(without.some(({ apiVersion }) => apiVersion.startsWith('keda'))).toBe(false)
    expect(deployment.parse(without.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'prod-worker')).spec.replicas).toBe(2)
  })

  test('a worker has longer than its own grace to hand back what it holds', () => {
    const { spec } = deployment.parse(render().find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'prod-worker'))
    expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(35)
  })

  test('sets no variable that no program reads', () => {
    const known = read('.env.example')
    const set = templates.flatMap((name) => [...read(`deploy/helm/pawl/templates/${name}`).matchAll(/\b(PAWL|OTEL)_[A-Z_]+/g)].map(([variable]) => variable)).filter((name) => name !== 'PAWL_SCALER_TOKEN')
    expect([...new Set(set)].filter((name) => !known.includes(name))).toEqual([])
  })
})
