#!/usr/bin/env node
/**
 * The path of somebody who has only heard of it, walked by a script: a fresh clone, the demo whose approvals are left to a person, the dashboard opened
 * by its login link, the calls that wait looked at and answered over the dashboard's own routes, and the run seen to its end. Each step with its time.
 *
 *   npm run stranger [-- --repository URL|FOLDER] [--here] [--keep]
 *
 * The clone is of this repository's last commit unless `--repository` names another; `--here` does without one and uses this working tree.
 * Only Node's own modules: what is needed beyond them is part of what is tried.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values } = parseArgs({ options: { repository: { type: 'string', default: root }, here: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } } })
const withinMs = 15 * 60_000
const begunAt = Date.now()
let stepAt = begunAt

const home = mkdtempSync(join(tmpdir(), 'pawl-stranger-'))
chmodSync(home, 0o755) // where this is root, Postgres runs as somebody else and has to pass through
const clone = values.here ? root : join(home, 'pawl')
let demo
// Whoever stops this stops the demo with it, and waits for it to clean up.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => { if (demo === undefined) process.exit(130); else demo.kill('SIGTERM') })
try {
  await main()
  console.log(`\nA stranger got from nothing to a finished run in ${seconds(begunAt)} s.`)
} catch (error) {
  console.error(`\nThe path is broken: ${error.message}`)
  process.exitCode = 1
} finally {
  if (demo !== undefined && demo.exitCode === null) {
    demo.kill('SIGTERM')
    // Its stores are still writing into the folder that goes next.
    await new Promise((resolve) => demo.once('close', resolve))
  }
  if (!values.keep) rmSync(home, { recursive: true, force: true })
}

async function main() {
  if (!values.here) {
    const cloned = spawnSync('git', ['clone', '--quiet', values.repository, clone], { stdio: 'inherit' })
    if (cloned.status !== 0) throw new Error(`git clone of ${values.repository} failed`)
    step('cloned')
  }
  const said = startDemo()
  const link = await said.find(/(http:\/\/\S+\/login\?link=\S+)/)
  step('installed, built, and the demo is up: it says where the dashboard is')
  const page = await openPage(link)
  step('logged in by the link, and the page is there')
  let answered = 0
  while (!said.isOver()) {
    const { entries } = await page.get('/api/v1/inbox?limit=100')
    for (const entry of entries.filter(({ kind }) => kind === 'approval')) {
      const { runId, approval } = entry
      if (answered === 0) step(`found the first call that waits: ${approval.tool} ${approval.argsText}`)
      await page.post(`/api/v1/runs/${runId}/actions/${approval.actionId}/approve`, { digest: approval.digest, note: 'a stranger looked at it' })
      answered += 1
      step(`said yes to ${approval.tool} of ${entry.itemKey}`)
    }
    const { entries: [run] } = await page.get('/api/v1/runs?limit=1')
    if (run !== undefined && run.finishedAt !== null) {
      if (run.status !== 'completed') throw new Error(`the run ended as ${run.status}`)
      step(`saw run ${run.id} completed: ${run.tally.done} of ${run.tally.total} items done`)
      break
    }
    // The demo ends soon after its run, and its dashboard with it.
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  if (answered === 0) throw new Error('nothing waited for a yes, so nothing was answered')
  const code = await said.ended
  if (code !== 0) throw new Error(`the demo ended with ${code}; its words are above`)
  step('the demo proved its run: nothing lost, nothing done twice')
}

/** `npm run demo -- --example research --small --by-hand`, in the clone, with nothing of Pawl in the environment. */
function startDemo() {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(PAWL_|DATABASE_URL$|REDIS_URL$|npm_)/.test(name)))
  demo = spawn('npm', ['run', 'demo', '--', '--example', 'research', '--small', '--by-hand', '--folder', join(home, 'demo')], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines = []
  const wakers = new Set()
  for (const stream of [demo.stdout, demo.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      console.log(`    | ${line}`)
      lines.push(line)
      for (const wake of wakers) wake()
    })
  }
  let isOver = false
  const ended = new Promise((resolve) => demo.once('close', (code) => { isOver = true; resolve(code); for (const wake of wakers) wake() }))
  const timer = setTimeout(() => demo.kill('SIGTERM'), withinMs)
  void ended.then(() => clearTimeout(timer))
  return {
    ended, isOver: () => isOver,
    /** The first group of the first line that fits. */
    find: (pattern) => new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null)
        if (found) resolve(found[1])
        else if (isOver) reject(new Error(`the demo ended and did not say ${pattern}`))
        else return
        wakers.delete(look)
      }
      wakers.add(look)
      look()
    }),
  }
}

/** As a browser does it: the link once, its cookie from then on, and the page's own token with every write. */
async function openPage(link) {
  const base = new URL(link).origin
  const entered = await fetch(link, { redirect: 'manual' })
  const cookie = entered.headers.getSetCookie().map((each) => each.split(';')[0]).join('; ')
  if (entered.status !== 303 || cookie === '') throw new Error(`the login link answered ${entered.status}`)
  const again = await fetch(link, { redirect: 'manual' })
  if (again.status === 303) throw new Error('the login link let somebody in twice')
  const html = await fetch(`${base}/`, { headers: { cookie, accept: 'text/html' } })
  if (html.status !== 200 || !(await html.text()).includes('<')) throw new Error(`the page answered ${html.status}`)
  const ask = async (path, init = {}) => {
    const answer = await fetch(`${base}${path}`, { ...init, headers: { accept: 'application/json', cookie, ...init.headers } })
    const body = await answer.json()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(body)}`)
    return body
  }
  const { csrf } = await ask('/session')
  return {
    get: (path) => ask(path),
    post: (path, body) => ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', 'x-pawl-csrf': csrf, origin: base } }),
  }
}

function step(what) {
  console.log(`${seconds(begunAt).padStart(6)} s  (+${seconds(stepAt)})  ${what}`)
  stepAt = Date.now()
}

function seconds(since) {
  return ((Date.now() - since) / 1_000).toFixed(1)
}
