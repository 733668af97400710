/** The house defends itself: floors, doors, names and sizes. Import cycles are the linter's. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname

/** Lower floors know nothing of higher ones; siblings of floor 1 are blind to each other, and so are apps. */
const floors: Record<string, readonly string[]> = {
  '@pawl/core': [],
  '@pawl/ledger': ['@pawl/core'],
  '@pawl/tools': ['@pawl/core'],
  '@pawl/queue': ['@pawl/core'],
  '@pawl/embedded': ['@pawl/core'],
  '@pawl/harness': ['@pawl/core', '@pawl/ledger', '@pawl/tools', '@pawl/queue'],
  '@pawl/client': ['@pawl/core', '@pawl/ledger', '@pawl/queue', '@pawl/tools'],
  '@pawl/telemetry': ['@pawl/core', '@pawl/harness'],
  '@pawl/worker': ['@pawl/core', '@pawl/ledger', '@pawl/queue', '@pawl/tools', '@pawl/harness', '@pawl/client', '@pawl/telemetry'],
  '@pawl/producer': ['@pawl/core', '@pawl/ledger', '@pawl/queue', '@pawl/tools', '@pawl/harness', '@pawl/client', '@pawl/telemetry'],
  '@pawl/dashboard': ['@pawl/core', '@pawl/ledger', '@pawl/queue', '@pawl/client'],
  'pawl': ['@pawl/core', '@pawl/ledger', '@pawl/queue', '@pawl/tools', '@pawl/harness', '@pawl/client', '@pawl/embedded', '@pawl/worker', '@pawl/producer', '@pawl/dashboard'],
}

const rooms = ['packages', 'apps'].flatMap((floor) => readdirSync(join(root, floor)).map((name) => join(root, floor, name)))
  .filter((room) => statSync(room).isDirectory())

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'dist' ? [] : sourcesBelow(path)
    return /\.tsx?$/.test(entry.name) ? [path] : []
  })
}

const isTest = (path: string): boolean => /\.(test|testsuite)\.tsx?$/.test(path)
/** `web/src` is the dashboard's part that runs in browsers. */
const sourcesOf = (room: string): string[] => ['src', 'web/src'].map((folder) => join(room, folder)).filter((folder) => existsSync(folder)).flatMap(sourcesBelow)
const production = rooms.flatMap(sourcesOf).filter((path) => !isTest(path))
const examples = readdirSync(join(root, 'examples')).flatMap((name) => sourcesBelow(join(root, 'examples', name, 'src'))).filter((path) => !isTest(path))

function importsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '')
}

const nameOf = (room: string): string => (JSON.parse(readFileSync(join(room, 'package.json'), 'utf8')) as { name: string }).name
const short = (path: string): string => relative(root, path)

test('every room is on a floor, and imports only from the floors below it', () => {
  const wrong: string[] = []
  for (const room of rooms) {
    const name = nameOf(room)
    if (name === '@pawl/testing') continue
    const allowed = floors[name]
    if (!allowed) { wrong.push(`${name} is on no floor`); continue }
    for (const path of sourcesOf(room).filter((one) => !isTest(one))) {
      for (const from of importsOf(path)) {
        const other = from.startsWith('@pawl/') ? from.split('/').slice(0, 2).join('/') : from === 'pawl' || from.startsWith('pawl/') ? 'pawl' : undefined
        // `pawl/testing` hands the kit on to users; nothing else of production may touch it.
        if (other !== undefined && other !== name && !allowed.includes(other) && !(name === 'pawl' && other === '@pawl/testing' && path.endsWith('src/testing.ts'))) wrong.push(`${short(path)} imports ${from}`)
      }
    }
  }
  expect(wrong).toEqual([])
})

test('one door each: to Postgres, to BullMQ, to the environment', () => {
  const doors: { what: RegExp; may: RegExp }[] = [
    { what: /^postgres$|^pg$/, may: /packages\/(ledger\/src\/(connect|transaction|passing-error|reads\/|connections?)|queue\/|embedded\/|testing\/|pawl\/src\/)|apps\/dashboard\/src\/board/ },
    { what: /^bullmq$|^ioredis$/, may: /packages\/(queue|pawl|testing)\// },
    { what: /^drizzle-orm/, may: /packages\/ledger\// },
  ]
  const wrong = production.flatMap((path) => importsOf(path).flatMap((from) => doors.filter((door) => door.what.test(from) && !door.may.test(path)).map(() => `${short(path)} imports ${from}`)))
  expect(wrong).toEqual([])
})

test('what runs in browsers comes from the client’s door for them, and asks nothing of Node', () => {
  const web = production.filter((path) => path.includes('/dashboard/web/src/'))
  expect(web.length).toBeGreaterThan(10)
  const wrong = web.flatMap((path) => importsOf(path).filter((from) => from.startsWith('node:') || (from.startsWith('@pawl/') && from !== '@pawl/core' && from !== '@pawl/client/http')).map((from) => `${short(path)} imports ${from}`))
  expect(wrong).toEqual([])
})

test('what runs in browsers needs no secure context, which a page over plain http is only on one’s own machine', () => {
  const needing = /\bcrypto\.(?:randomUUID|subtle)\b|\bnavigator\.(?:clipboard|credentials|locks|mediaDevices|serviceWorker|storage)\b|\bcaches\./
  expect(production.filter((path) => path.includes('/dashboard/web/src/') && needing.test(readFileSync(path, 'utf8'))).map(short)).toEqual([])
})

test('the client’s door for browsers leads neither to the ledger nor to Node’s own modules', () => {
  const reached = new Set([join(root, 'packages/client/src/http.ts')])
  const outside: string[] = []
  for (const path of reached) {
    for (const [, from = ''] of readFileSync(path, 'utf8').matchAll(/^(?:import|export)\s+(?!type\b)[^';]*?from\s*'([^']+)'/gm)) {
      if (from.startsWith('.')) reached.add(join(dirname(path), from))
      else outside.push(from)
    }
  }
  expect(reached.size).toBeGreaterThan(3)
  expect([...new Set(outside)].toSorted()).toEqual(['@opentelemetry/api', '@pawl/core', 'zod'])
})

test('only the doors to the environment and the programs read process.env', () => {
  const may = /\/(env|environment|main|child|config|settings)\.ts$|packages\/(testing|embedded|queue|pawl)\/|run-git\.ts$/
  expect(production.filter((path) => readFileSync(path, 'utf8').includes('process.env') && !may.test(path)).map(short)).toEqual([])
})

test('no source file is longer than 400 lines, and none is named after nothing', () => {
  const tooLong = [...production, ...examples].filter((path) => readFileSync(path, 'utf8').split('\n').length > 400).map(short)
  const vague = [...production, ...examples].filter((path) => /^(util|utils|common|helper|helpers|manager|data|info|misc)\.tsx?$/.test(basename(path))).map(short)
  expect({ tooLong, vague }).toEqual({ tooLong: [], vague: [] })
})

test('no test is skipped, focused or left to do', () => {
  const tests = [...rooms, ...readdirSync(join(root, 'examples')).map((name) => join(root, 'examples', name))].flatMap(sourcesOf).filter(isTest)
  expect(tests.filter((path) => /\b(it|test|describe)\.(skip|only|todo)\(/.test(readFileSync(path, 'utf8'))).map(short)).toEqual([])
})

test('every environment variable a program reads is in .env.example', () => {
  const listed = readFileSync(join(root, '.env.example'), 'utf8')
  const read = new Set(production.filter((path) => path.endsWith('/env.ts')).flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/\b((?:PAWL|OTEL)_[A-Z_]+|DATABASE_URL|REDIS_URL)\b/g)].map((match) => match[1] ?? '')))
  // Handed by the supervisor to its own children.
  const internal = new Set(['PAWL_WORKER_ID', 'PAWL_WORKER_NAME', 'PAWL_TIMINGS'])
  expect([...read].filter((name) => !internal.has(name) && !listed.includes(name))).toEqual([])
})
