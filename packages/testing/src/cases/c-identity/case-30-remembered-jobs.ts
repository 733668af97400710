/** Case 30: the queue remembers jobs that have ended. What is resumed runs all the same, and so does the first run of a new database on an old Redis. */
import { newRunId } from '@pawl/core'
import { resumeRun } from '@pawl/ledger'
import { onStage, shortWindows, toolsByPromise, type CaseStage, type CaseTool } from '../case-stage.ts'
import { Findings } from '../findings.ts'
import type { CaseOutcome } from '../literal-case.ts'

async function failThenResume(stage: CaseStage<CaseTool>, findings: Findings, runId: string, subject: string): Promise<void> {
  let isMended = false
  await stage.start(async ({ tools }) => {
    if (!isMended) throw new Error('not yet')
    await tools.keyed({ subject })
  }, { id: runId, policy: { maxFailures: 1 } })
  findings.is('the run before it is mended', (await stage.workers.runIs(runId)).status, 'failed')
  isMended = true
  await resumeRun(stage.workers.ledger, runId, 'a person')
  stage.workers.touch(runId)
  findings.is('the run after it is resumed', (await stage.workers.runIs(runId, ['completed', 'completed_with_failures'])).status, 'completed')
  findings.is('effects', stage.applied(subject), 1)
}

/** @param urls of two empty databases: the second stands for the first, dropped and made again. */
export async function playRememberedJobs(urls: readonly [string, string], redisUrl: string): Promise<CaseOutcome> {
  const findings = new Findings()
  // The same id, so that run, item and generation are the same in both databases.
  const runId = newRunId()
  for (const [n, url] of urls.entries()) {
    await onStage({ url, redisUrl, tools: (effects) => toolsByPromise(effects, shortWindows) }, (stage) => failThenResume(stage, findings, runId, `remembered ${n}`))
  }
  return findings.outcome()
}
