/**
 * A copy of the tree as it lies on disk, below the system's temporary folder: sources are copied, packages from the registry and built
 * code are linked, and the workspace's own packages resolve inside the copy, so that a mutant never touches what others work on.
 * One Postgres serves all runs in it.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export async function makeScratch() {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'pawl-mutants-'))
  copySources(folder)
  linkPackages(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const room of ['packages', 'apps', 'examples']) {
    for (const name of readdirSync(join(root, room))) {
      const [from, to] = [join(root, room, name), join(folder, room, name)]
      if (!existsSync(to)) continue
      if (existsSync(join(from, 'dist'))) symlinkSync(join(from, 'dist'), join(to, 'dist'))
      if (existsSync(join(from, 'node_modules'))) linkPackages(join(from, 'node_modules'), join(to, 'node_modules'))
    }
  }
  const postgres = await startPostgres(join(folder, 'postgres'))
  return {
    folder,
    databaseUrl: postgres.url,
    apply: (edits) => apply(folder, edits),
    async remove() {
      await postgres.release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Tracked files and new ones that are not ignored: what a commit made now would hold. */
function copySources(folder) {
  const names = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8', maxBuffer: 64_000_000 })
  for (const name of names.split('\0')) {
    if (name === '' || !existsSync(join(root, name)) || !lstatSync(join(root, name)).isFile()) continue
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    copyFileSync(join(root, name), join(folder, name))
  }
}

/** Links of the workspace are relative and are made again as they are; everything else points to the one installation. */
function linkPackages(from, to) {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name.startsWith('.') && entry.name !== '.bin') continue
    const source = join(from, entry.name)
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), join(to, entry.name))
    else if (entry.name.startsWith('@')) linkPackages(source, join(to, entry.name))
    else symlinkSync(source, join(to, entry.name))
  }
}

async function startPostgres(folder) {
  const built = join(root, 'packages/embedded/dist/index.js')
  if (!existsSync(built)) throw new Error('Nothing is built yet. Run "npm run mutants", which builds first, or "npm run compile".')
  const { startEmbedded } = await import(built)
  return await startEmbedded({ folder, log: () => {} })
}

/** All edits or none. `refused` says which one does not fit; each text must occur exactly once. */
function apply(folder, edits) {
  const before = new Map()
  const restore = () => { for (const [path, text] of before) writeFileSync(path, text) }
  for (const { file, find, replace } of edits) {
    const path = join(folder, file)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const count = text.split(find).length - 1
    if (count !== 1) {
      restore()
      return { refused: `${file} has the text ${count} times: ${JSON.stringify(find.slice(0, 120))}` }
    }
    if (!before.has(path)) before.set(path, text)
    writeFileSync(path, text.replace(find, () => replace))
  }
  return { restore }
}
