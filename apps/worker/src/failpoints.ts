/**
 * Crashes of one's own, for tests and chaos runs: what `PAWL_FAILPOINTS` plans is done by this very process when it arrives there, so that a process dies
 * exactly between two writes. Inert unless planned. With a folder for what is spent, an entry strikes once over all processes that share it: the
 * successor of a killed process goes on undisturbed, and the folder's files say what was struck, where and when.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Failpoint, FailpointName, FailpointPlace } from '@pawl/harness'
import type { PlannedFailpoint } from './failpoint-plan.ts'
import type { ForgetfulLedger } from './forgetful-ledger.ts'

const isAt = ({ at, run, item, tool, turn }: PlannedFailpoint, name: FailpointName, place: FailpointPlace): boolean =>
  at === name && (run ?? place.runId) === place.runId && (item ?? place.seq) === place.seq && (tool ?? place.tool) === place.tool && (turn ?? place.turn) === place.turn

/** @param spentFolder null: what is spent is known to this process only. */
export function armFailpoints(plan: readonly PlannedFailpoint[], spentFolder: string | null, ledger: ForgetfulLedger): Failpoint {
  const armed = plan.map((planned, n) => ({ planned, n, arrivals: 0, isSpent: false }))
  return (name, place) => {
    for (const one of armed) {
      if (one.isSpent || !isAt(one.planned, name, place) || ++one.arrivals < one.planned.nth) continue
      one.isSpent = true
      if (spentFolder === null || isFirst(join(spentFolder, `${one.n}.json`), name, place)) return strike(one.planned, place, ledger)
    }
  }
}

/** Writes the file, unless another process has. */
function isFirst(file: string, name: FailpointName, place: FailpointPlace): boolean {
  try {
    writeFileSync(file, JSON.stringify({ at: name, pid: process.pid, struckAt: Date.now(), ...place }), { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

function strike({ at, action, ms }: PlannedFailpoint, { runId }: FailpointPlace, ledger: ForgetfulLedger): void | Promise<void> {
  switch (action) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => {})
    case 'stop':
      // Somebody else has to wake a process that stands still; nobody waits for whoever does.
      spawn('/bin/sh', ['-c', `sleep ${ms / 1_000}; kill -CONT ${process.pid}`], { detached: true, stdio: 'ignore' }).unref()
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'throw': throw new Error(`failpoint ${at}`)
    case 'loseAck': return ledger.loseNextAnswer(runId)
    case 'delay': return new Promise((resolve) => setTimeout(resolve, ms))
  }
}
