import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PawlError } from '@pawl/core'
import type { Command } from 'commander'
import colors from 'picocolors'
import { exitOf } from '../cli/exit-codes.ts'
import { addLeaf } from '../cli/leaf.ts'
import { readVersion } from '../cli/version.ts'

const template = fileURLToPath(new URL('../../template/', import.meta.url))
const ownFolder = fileURLToPath(new URL('../../', import.meta.url))

/** `pawl init [folder]`: a small project that works. It writes over nothing. JSON: `{ folder, files, next }`. */
export function addInit(parent: Command): void {
  addLeaf(parent, {
    usage: 'init [folder]', about: 'write a small project that works: an agent, its config, and how to start it',
    async run({ args: [given = '.'], out }) {
      const folder = resolve(given)
      const files = filesBelow(template).map((from) => ({ from, to: relative(template, from).replace(/^gitignore$/, '.gitignore') }))
      const taken = [...files.map(({ to }) => to), 'package.json'].filter((name) => existsSync(join(folder, name)))
      if (taken.length > 0) {
        throw new PawlError('NOT_EMPTY', `${folder} has ${taken.join(', ')} already, and init writes over nothing. Nothing was written. Name a new folder: pawl init my-agents`)
      }
      for (const { from, to } of files) {
        mkdirSync(dirname(join(folder, to)), { recursive: true })
        copyFileSync(from, join(folder, to))
      }
      writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestFor(folder, ownFolder), null, 2)}\n`)
      const next = [...(given === '.' ? [] : [`cd ${given}`]), 'npm install', 'npx pawl dev']
      out.emit({ folder, files: ['package.json', ...files.map(({ to }) => to)], next })
      out.line(`${colors.bold('A project is in')} ${folder}: the agent in agents/letters.ts, and README.md says how it goes on. Next:`)
      for (const command of next) out.line(`  ${colors.cyan(command)}`)
      return exitOf.ok
    },
  })
}

const filesBelow = (folder: string): string[] => readdirSync(folder, { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).toSorted()

/** From a clone of the repository the project links to it; from an installed package it asks for the same version. */
export function manifestFor(folder: string, own: string): object {
  const isInstalled = own.split(sep).includes('node_modules')
  const pawl = isInstalled ? `^${readVersion()}` : `file:${relative(folder, own).split(sep).join('/')}`
  return {
    name: basename(folder).toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'agents', version: '0.1.0', private: true, type: 'module',
    scripts: { dev: 'pawl dev', tools: 'pawl tools' },
    dependencies: { pawl, zod: '^4.6.7' },
    engines: { node: '>=20.19' },
  }
}
