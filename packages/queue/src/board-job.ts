/**
 * What the board shows about a job in hand: written behind the handler's back, one write at a time, newest progress
 * only. The store may be slow or gone; the handler never notices.
 */
import type { Job } from 'bullmq'
import type { BoardJob } from './port.ts'

const mostLines = 200
const longestLine = 500

export function openBoardJob(job: Pick<Job, 'updateProgress' | 'log'>): BoardJob {
  let progress: number | undefined
  let lines: string[] = []
  let isWriting = false

  async function write(): Promise<void> {
    isWriting = true
    try {
      while (progress !== undefined || lines.length > 0) {
        const [count, batch] = [progress, lines]
        progress = undefined
        lines = []
        if (count !== undefined) await job.updateProgress(count)
        for (const line of batch) await job.log(line)
      }
    } catch {
      // The job is gone or the store is: there is nothing to show it on.
    } finally {
      isWriting = false
    }
  }
  const flush = (): void => { if (!isWriting) void write() }

  return {
    progress(committedActions) {
      progress = committedActions
      flush()
    },
    log(line) {
      if (lines.length < mostLines) lines.push(line.slice(0, longestLine))
      flush()
    },
  }
}
