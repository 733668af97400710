#!/usr/bin/env node
/**
 * From a fresh clone to a running command, with nothing but Node, npm and git: installs when the lockfile changed,
 * builds when sources changed, then hands over. Only Node's own modules here: it runs before anything is installed.
 *
 *   node scripts/bootstrap.mjs demo|test|security|check|build [arguments of the command…]
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lock = join(root, '.pawl', 'bootstrap')
const stamp = join(root, 'node_modules', '.pawl-installed')
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

const [verb = '', ...args] = process.argv.slice(2)
const commands = {
  demo: [[process.execPath, 'packages/pawl/dist/main.js', 'demo', ...args]],
  test: [[process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...args]],
  security: [[process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.security.config.ts', ...args]],
  check: [[npm, 'run', '--silent', 'lint'], [npm, 'run', '--silent', 'types'], [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...args]],
  build: [],
}

refuseOldNode()
const steps = commands[verb]
if (steps === undefined) {
  console.error(`Unknown command ${JSON.stringify(verb)}. Use: node scripts/bootstrap.mjs ${Object.keys(commands).join('|')} [arguments…]`)
  process.exit(2)
}
await prepare()
for (const step of steps) {
  if (steps.length > 1) say(step.map((part) => (part === process.execPath ? 'node' : part)).join(' '))
  const code = await run(step)
  if (code !== 0) process.exit(code)
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`Pawl needs Node 20.19 or newer; this is ${process.version}. Install a newer one (https://nodejs.org, or: nvm install 22) and run the same command again.`)
  process.exit(1)
}

/** Two bootstraps in one clone take turns: npm and tsc both write where the other reads. */
async function prepare() {
  await takeLock()
  try {
    await install()
    say('building what changed (tsc -b, and the dashboard’s pages)')
    const code = (await run([process.execPath, 'node_modules/typescript/bin/tsc', '-b'])) || (await run([process.execPath, 'apps/dashboard/web/build.mjs']))
    if (code !== 0) {
      console.error('The build failed; the errors are above.')
      process.exitCode = code
    }
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
  if (process.exitCode) process.exit()
}

async function install() {
  const wanted = createHash('sha256').update(readFileSync(join(root, 'package-lock.json'))).digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  say(existsSync(join(root, 'node_modules')) ? 'the lockfile changed: installing packages (npm ci)' : 'installing packages (npm ci), a minute or so the first time')
  const code = await run([npm, 'ci', '--no-audit', '--no-fund', '--loglevel=error'])
  if (code !== 0) {
    console.error('npm ci failed; its words are above. Check the network and the disk, then run the same command again.')
    rmSync(lock, { recursive: true, force: true })
    process.exit(code)
  }
  writeFileSync(stamp, wanted)
}

/**
 * The lock is a folder that holds its holder's pid, moved into place whole: only one can. A holder that was killed is
 * known by its pid, and its folder is moved aside under a name of our own, so that of two finders only one goes on.
 */
async function takeLock() {
  const draft = `${lock}.${process.pid}.draft`
  mkdirSync(draft, { recursive: true })
  writeFileSync(join(draft, 'pid'), String(process.pid))
  for (let waited = 0; ; waited++) {
    try {
      renameSync(draft, lock)
      return
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY', 'EPERM'].includes(error.code)) throw error
    }
    const holder = readHolder()
    if (holder !== undefined && !isAlive(holder)) removeStale()
    else if (waited % 50 === 0) say(`waiting for another bootstrap in this clone (pid ${holder ?? 'unknown'})`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Undefined while it is being removed. */
function readHolder() {
  try {
    return Number(readFileSync(join(lock, 'pid'), 'utf8'))
  } catch {
    return undefined
  }
}

function removeStale() {
  const aside = `${lock}.${process.pid}`
  try {
    renameSync(lock, aside)
    // Between our look and our move another may have taken its place: give it back.
    if (isAlive(Number(readFileSync(join(aside, 'pid'), 'utf8')))) renameSync(aside, lock)
  } catch {
    // somebody else moved it first
  }
  rmSync(aside, { recursive: true, force: true })
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Runs to its end with our terminal, passes signals on, and gives back its exit code (128 + n after signal n). */
function run([command, ...parts]) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parts, { cwd: root, stdio: 'inherit', shell: command.endsWith('.cmd') })
    // A terminal sends Ctrl-C to the child itself; a second one from us would mean "at once".
    const isTyped = (signal) => signal === 'SIGINT' && process.stdin.isTTY
    const forwards = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => [signal, () => isTyped(signal) || child.kill(signal)])
    for (const [signal, forward] of forwards) process.on(signal, forward)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      for (const [name, forward] of forwards) process.off(name, forward)
      resolve(signal === null ? code : 128 + constants.signals[signal])
    })
  })
}

function say(line) {
  console.error(`pawl: ${line}`)
}
