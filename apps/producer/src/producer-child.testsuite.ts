/** A producer in a process of its own, to be measured and killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Child {
  readonly url: string
  /** The most memory it ever had. */
  maxRssMb(): Promise<number>
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
}

/** Less than what a long stream brings, so that a producer that keeps one cannot pass; and little room to put collecting off, which RSS would show. */
const heapMb = 96

export async function startProducerProcess(databaseUrl: string): Promise<Child> {
  const script = fileURLToPath(new URL('producer-process.testsuite.ts', import.meta.url))
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=2', '--conditions=@pawl/source', '--import', 'tsx', script], {
    stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, DATABASE_URL: databaseUrl, PAWL_QUEUE: 'postgres', PAWL_PORT: '0', PAWL_LOG_LEVEL: 'silent', REDIS_URL: '', PAWL_TOKENS: '' },
  })
  const exited = once(child, 'exit')
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const say = async (): Promise<string> => String((await said.next()).value)
  return {
    url: await say(),
    async maxRssMb() {
      child.stdin.write('\n')
      return Number(await say()) / 1_024
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exited
    },
  }
}
