#!/usr/bin/env node
/**
 * Would the suite notice? Applies each mutant of `list.mjs` (a known way to break the promise, as an exact edit) to a scratch copy of
 * the tree as it lies on disk, and runs the contract test that must go red. Caught is: that test ran, and failed. Not caught is all else:
 * green, hanging past its limit, a copy that does not load, or an edit that no longer fits the code.
 *
 *   npm run mutants [-- --only NAME[,NAME…]] [--json] [--list]
 *
 * NAME is a mutant's, a test file's whose mutants are meant, or `security` for all guards of `security.mjs`.
 *
 * Prints {"caught","total","by":{mutant: test file}} last; exits 0 only if all are caught.
 */
import { parseArgs } from 'node:util'
import { mutants } from './list.mjs'
import { runTests } from './run-tests.mjs'
import { makeScratch } from './scratch.mjs'

const { values } = parseArgs({ options: { only: { type: 'string' }, json: { type: 'boolean' }, list: { type: 'boolean' } } })
const chosen = choose(values.only)
if (values.list) {
  for (const mutant of chosen) console.log(`${mutant.name}: ${mutant.breaks}`)
  process.exit(0)
}

const say = (line) => { if (!values.json) console.log(line) }
const scratch = await makeScratch()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void scratch.remove().finally(() => process.exit(130)))
try {
  process.exitCode = await main()
} finally {
  await scratch.remove()
}

async function main() {
  const red = await findRedUnmutated()
  const by = {}
  const missed = []
  for (const mutant of chosen) {
    const verdict = red.has(mutant.test.file) ? { caught: false, why: `${mutant.test.file} is red without it, so it shows nothing` } : await judge(mutant)
    if (verdict.caught) by[mutant.name] = mutant.test.file
    else missed.push(mutant.name)
    say(`${verdict.caught ? 'caught' : 'MISSED'}  ${mutant.name}: ${mutant.breaks}\n        ${verdict.why}`)
  }
  console.log(JSON.stringify({ caught: Object.keys(by).length, total: chosen.length, by, ...(missed.length > 0 ? { missed } : {}) }))
  return missed.length === 0 ? 0 : 1
}

/** Files whose claims are not green as the code stands: a test that is red anyway catches nothing. Asked twice, for a busy machine's sake. */
async function findRedUnmutated() {
  const red = new Set()
  for (const file of new Set(chosen.map((mutant) => mutant.test.file))) {
    const claims = [...new Set(chosen.filter((mutant) => mutant.test.file === file).map((mutant) => mutant.test.claim))]
    const first = await checkGreen(file, claims)
    const again = first === undefined ? undefined : await checkGreen(file, claims)
    if (again === undefined) say(`green   ${file}: ${claims.length} claims without a mutant${first === undefined ? '' : ' (at the second try)'}`)
    else red.add(file)
    if (again !== undefined) console.error(`${file} is not green without a mutant: ${again}`)
  }
  return red
}

/** Undefined when every claim has a passed test; else what went wrong. */
async function checkGreen(file, claims) {
  const result = await runTests(scratch, file, claims)
  const unmatched = claims.filter((claim) => !result.passed.some((name) => name.includes(claim)))
  if (result.exitCode === 0 && unmatched.length === 0) return undefined
  return `${describe(result)}${unmatched.length > 0 ? `; not passed: ${unmatched.join(' | ')}` : ''}\n${result.output}`
}

async function judge(mutant) {
  const undo = scratch.apply(mutant.edits)
  if (undo.refused) return { caught: false, why: `the edit no longer fits: ${undo.refused}` }
  try {
    const result = await runTests(scratch, mutant.test.file, [mutant.test.claim])
    const caught = result.exitCode !== 0 && !result.timedOut && result.failed.length > 0
    return { caught, why: caught ? `red: ${mutant.test.file} > ${result.failed[0]}` : `${mutant.test.file}: ${describe(result)}` }
  } finally {
    undo.restore()
  }
}

function describe({ exitCode, timedOut, failed, passed }) {
  if (timedOut) return 'it ran past its time limit'
  if (failed.length > 0) return `failed: ${failed.join(' | ')}`
  if (exitCode !== 0) return `exit code ${exitCode} and no failed test: it did not load, or its setup broke`
  return `${passed.length} passed`
}

function choose(only) {
  if (only === undefined) return mutants
  const names = only.split(',').map((name) => name.trim())
  const isNamed = (mutant, name) => [mutant.name, mutant.group, mutant.test.file].includes(name)
  const unknown = names.filter((name) => !mutants.some((mutant) => isNamed(mutant, name)))
  if (unknown.length > 0) {
    console.error(`No mutant named ${unknown.join(', ')}. There are: ${mutants.map((mutant) => mutant.name).join(', ')}`)
    process.exit(2)
  }
  return mutants.filter((mutant) => names.some((name) => isNamed(mutant, name)))
}
