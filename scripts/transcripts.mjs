#!/usr/bin/env node
/**
 * What `pawl` looks like on a terminal of 100 by 30, written into docs/transcripts/*.txt: a project made by `pawl init`, started by `pawl dev`, with a run
 * that waits for a person. Typed into a real tmux and read off its screen; nothing is made up. What names this machine is left out.
 *
 *   npm run transcripts
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const place = join(root, 'docs', 'transcripts')
const withinMs = 180_000
const socket = `pawl-transcripts-${process.pid}`
const size = ['-x', '100', '-y', '30']

const home = mkdtempSync(join(tmpdir(), 'pawl-'))
chmodSync(home, 0o755) // where this is root, Postgres runs as somebody else and has to pass through
const folder = join(home, 'letters')

needTmux()
mkdirSync(place, { recursive: true })
try {
  await main()
} finally {
  // The server of this socket is ours alone; it may never have come up.
  try { tmux('kill-server') } catch {}
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
}

async function main() {
  await open('first', home)
  type('first', 'pawl init letters')
  await screen('first', /npx pawl dev/)
  install()
  type('first', 'cd letters && clear && pawl dev')
  await screen('first', /workers +2 processes[\s\S]*No run yet/)

  await open('second', folder)
  type('second', 'pawl run start letters --input @input.json --watch; echo "exit $?"')
  keep('run-start', await screen('second', /exit 3/))
  type('second', 'clear; pawl inbox --limit 1')
  keep('inbox', await screen('second', /pawl reject[\s\S]*There is more[\s\S]*\$ $/))
  keep('dev', await screen('first', /3 wait for you/))
  type('second', 'clear; pawl doctor')
  keep('doctor', await screen('second', /All is well|warning|failure/))
  type('second', 'RUN=$(pawl run list -o ids); clear; echo "chosen"')
  await screen('second', /^chosen/m)
  type('second', 'clear; pawl approve $RUN --all --yes | tail -3; pawl run watch $RUN; echo "exit $?"')
  keep('run-watch', await screen('second', /exit \d/))
  type('first', '', 'C-c')
  await screen('first', /\$ $/)
}

/** As `npm install` would: the package and its peer, by links into this clone. */
function install() {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(root, 'packages', 'pawl'), join(folder, 'node_modules', 'pawl'))
  symlinkSync(join(root, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'))
}

function tmux(...args) {
  return execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function needTmux() {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' })
  } catch {
    console.error('tmux is not here, and the transcripts are read off its screen. Install it (Debian: apt-get install tmux) and run this again.')
    process.exit(1)
  }
}

/** A shell that has said that it listens. */
async function open(name, cwd) {
  // What the surroundings say about Pawl is not what a stranger has.
  const env = { HOME: home, PATH: `${join(root, 'node_modules', '.bin')}:${dirname(process.execPath)}:/usr/bin:/bin`, TERM: 'xterm-256color', LANG: 'C.UTF-8', PS1: '$ ', HISTFILE: '/dev/null' }
  const shell = `exec env -i ${Object.entries(env).map(([key, value]) => `${key}='${value}'`).join(' ')} bash --norc --noprofile`
  tmux('new-session', '-d', '-s', name, ...size, '-c', cwd, shell)
  await screen(name, /^\$ $/)
}

function type(name, text, key = 'Enter') {
  if (text !== '') tmux('send-keys', '-t', name, '-l', text)
  tmux('send-keys', '-t', name, key)
}

/** The screen, once it shows that. */
async function screen(name, shows) {
  let text = ''
  for (const until = Date.now() + withinMs; Date.now() < until;) {
    text = tmux('capture-pane', '-p', '-t', name).trimEnd()
    if (shows.test(`${text} `.replace(/ +$/, ' '))) return text
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error(`the screen of ${name} did not show ${shows} within ${withinMs / 1_000} s:\n${text}`)
}

function keep(name, text) {
  const lines = text.split('\n').map((line) => line.trimEnd())
  const bare = lines.join('\n').replaceAll(folder, '~/letters').replaceAll(home, '~').replaceAll(/Postgres in \/\S+/g, 'Postgres in ~/letters/.pawl/dev').replaceAll(hostname(), 'laptop').replaceAll(/(\/login\?link=)[\w-]+/g, '$1…').replaceAll(/cli:\w+/g, 'cli:you')
  writeFileSync(join(place, `${name}.txt`), `${bare}\n`)
  show(name, bare)
  console.log(`docs/transcripts/${name}.txt`)
}

/** The page shows each transcript in the fence below its mark. */
function show(name, text) {
  const page = join(root, 'docs', 'cli.md')
  const mark = `<!-- transcripts/${name}.txt -->\n\`\`\`text\n`
  const before = readFileSync(page, 'utf8')
  const at = before.indexOf(mark)
  if (at < 0) return
  const end = before.indexOf('\n```', at + mark.length - 1)
  writeFileSync(page, `${before.slice(0, at + mark.length)}${text}${before.slice(end)}`)
}
