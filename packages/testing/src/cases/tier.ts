/**
 * The literal forms of docs/cases.md: the real numbers, at default timings, on a Postgres of its own. Mostly waiting, so some are played at once.
 * The report has one entry for each case; a case that breaks off is a case that failed.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '@pawl/core'
import { startEmbedded } from '@pawl/embedded'
import { Ledger } from '@pawl/ledger'
import type { TierReport, TierRequest } from '../chaos/tiers.ts'
import { allCases } from './all-cases.ts'
import type { CaseServices, LiteralCase } from './literal-case.ts'

const defaultBreadth = 3

export interface PlayedCase {
  readonly id: number
  readonly title: string
  readonly ok: boolean
  readonly seconds: number
  readonly figures: Readonly<Record<string, number | string>>
}

export interface CasesReport extends TierReport {
  readonly passed: number
  readonly total: number
  readonly seconds: number
  readonly cases: readonly PlayedCase[]
}

export async function casesTier(request: TierRequest): Promise<CasesReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-cases-'))
  // Postgres runs as another user where we are root, and has to pass through.
  chmodSync(folder, 0o711)
  const postgres = await startEmbedded({ folder: join(folder, 'postgres') })
  try {
    return await playAll(request, postgres.url)
  } finally {
    await postgres.release()
    for (const path of [postgres.folder, folder]) rmSync(path, { recursive: true, force: true })
  }
}

async function playAll({ seed, say, minutes = Infinity, breadth = defaultBreadth, cases }: TierRequest, url: string): Promise<CasesReport> {
  const begunAt = performance.now()
  const services: CaseServices = { seed, say, freshDatabase: () => makeDatabase(url) }
  const chosen = allCases.filter(({ id }) => cases?.includes(id) ?? true)
  const left = [...chosen]
  const played: PlayedCase[] = []
  const problems: string[] = []
  const lane = async (): Promise<void> => {
    for (let mine = left.shift(); mine; mine = left.shift()) {
      if (performance.now() - begunAt > minutes * 60_000) {
        problems.push(`case ${mine.id} was not begun: the time was over`)
        continue
      }
      say(`case ${mine.id}: ${mine.title}`)
      played.push(await play(mine, services, problems))
    }
  }
  await Promise.all(Array.from({ length: breadth }, lane))
  const passed = played.filter((one) => one.ok).length
  return {
    ok: passed === chosen.length && chosen.length > 0, passed, total: chosen.length, seconds: secondsSince(begunAt),
    cases: played.toSorted((a, b) => a.id - b.id), problems,
  }
}

async function play(mine: LiteralCase, services: CaseServices, problems: string[]): Promise<PlayedCase> {
  const begunAt = performance.now()
  const { id, title } = mine
  try {
    const outcome = await mine.run(services)
    const found = outcome.problems ?? []
    problems.push(...(outcome.ok || found.length > 0 ? found : ['it says that it failed']).map((problem) => `case ${id}: ${problem}`))
    return { id, title, ok: outcome.ok, seconds: secondsSince(begunAt), figures: outcome.figures }
  } catch (error) {
    problems.push(`case ${id} broke off: ${error instanceof Error ? error.message : String(error)}`)
    return { id, title, ok: false, seconds: secondsSince(begunAt), figures: {} }
  }
}

const secondsSince = (begunAt: number): number => Math.round((performance.now() - begunAt) / 100) / 10

async function makeDatabase(server: string): Promise<string> {
  const name = `case_${newId().replaceAll('-', '')}`
  const ledger = new Ledger({ url: server, connections: 1 })
  await ledger.query(`create database ${name}`)
  await ledger.close()
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
