/** A worker process of the git tests: commits one file per key it reads from stdin, prints each finished key. */
import { createInterface } from 'node:readline'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { testContext } from '../fixtures/context.testsuite.ts'
import { gitCommit } from './git-commit.ts'

const [repo = ''] = process.argv.slice(2)
const tool = gitCommit({ repo })
process.stdout.write('ready\n')
for await (const key of createInterface({ input: process.stdin })) {
  await writeFile(join(repo, `${key}.txt`), `content of ${key}\n`)
  const { commit } = await tool.execute({ paths: [`${key}.txt`], message: `Add ${key}` }, testContext(key))
  process.stdout.write(`${key} ${commit}\n`)
}
