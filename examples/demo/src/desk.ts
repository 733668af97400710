/** `--by-hand`: a producer and a dashboard beside the demo, so that whoever watches it can look, and answers what waits for a yes. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { PawlClient } from '@pawl/client'
import type { Screen } from './screen.ts'

const pawl = fileURLToPath(new URL('../../../packages/pawl/bin/pawl.mjs', import.meta.url))

export interface Desk {
  /** Says how many calls wait, whenever that is another number than before. */
  remind(client: PawlClient, runId: string): Promise<void>
  close(): Promise<void>
}

const upWithinMs = 120_000
/** They are for this machine, whatever the environment says. */
const closed = ['PAWL_HOST', 'PAWL_PORT', 'PAWL_TOKENS', 'PAWL_DASHBOARD_USERS', 'PAWL_DASHBOARD_URL', 'PAWL_PRODUCER_TOKEN', 'PAWL_PRODUCER_URL']

export async function openDesk(env: NodeJS.ProcessEnv, screen: Screen): Promise<Desk> {
  const services: ChildProcess[] = []
  const mine = { ...Object.fromEntries(Object.entries(env).filter(([name]) => !closed.includes(name))), PAWL_LOG_LEVEL: 'error' }
  const start = async (...args: string[]): Promise<Record<string, string | null>> => {
    const child = spawn(process.execPath, [pawl, ...args, '--port', '0', '--json'], { env: mine, stdio: ['ignore', 'pipe', 'inherit'] })
    services.push(child)
    return await firstLine(child, args.join(' '))
  }
  const close = async (): Promise<void> => {
    await Promise.all(services.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }))
  }
  try {
    const producer = await start('producer')
    const dashboard = await start('dashboard', '--producer', producer['url'] ?? '')
    screen.say(`what waits for a yes is yours to answer: ${dashboard['loginUrl'] ?? dashboard['url'] ?? ''} (logs in once)`)
  } catch (error) {
    await close()
    throw error
  }
  let said = 0
  return {
    async remind(client, runId) {
      const waiting = (await client.inbox({ runId, limit: 100 })).entries.filter((entry) => entry.kind === 'approval').length
      if (waiting !== said && waiting > 0) screen.say(`${waiting} call${waiting === 1 ? ' waits' : 's wait'} for your yes, in the inbox of the dashboard`)
      said = waiting
    },
    close,
  }
}

function firstLine(child: ChildProcess, what: string): Promise<Record<string, string | null>> {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => { reject(new Error(`pawl ${what} did not start within ${upWithinMs / 1_000} s`)) }, upWithinMs)
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (!text.includes('\n')) return
      clearTimeout(timer)
      resolve(JSON.parse(text.slice(0, text.indexOf('\n'))) as Record<string, string | null>)
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`pawl ${what} ended with ${code ?? 'a signal'}; its words are above`))
    })
  })
}
