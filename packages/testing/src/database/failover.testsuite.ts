/** A fleet whose Postgres can be replaced behind its back: workers reach it through a proxy, receivers count what arrives. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded, type Embedded } from '@pawl/embedded'
import { defineAgent, type AnyAgent } from '@pawl/harness'
import { Ledger } from '@pawl/ledger'
import { z } from 'zod'
import { effectTools } from '../../../harness/src/world.testsuite.ts'
import { startEffectsServer, type EffectsServer } from '../effects-server.ts'
import { startFaultProxy, type FaultProxy } from '../fault-proxy.ts'
import { VirtualWorkers } from '../virtual-workers.ts'

export interface Ground {
  readonly folder: string
  readonly primary: Embedded
  readonly proxy: FaultProxy
  readonly effects: EffectsServer
  readonly agent: AnyAgent
  readonly log: string[]
  /** Past this point the agent goes on with the call that will be lost. */
  open(gate: 'first' | 'second'): void
  fleet(): Promise<VirtualWorkers>
  /** Through the proxy, whatever is behind it now. */
  rows<R extends Record<string, unknown>>(text: string): Promise<R[]>
  close(): Promise<void>
}

export async function openGround(): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-failover-'))
  chmodSync(folder, 0o711)
  const primary = await startEmbedded({ folder: join(folder, 'primary') })
  const proxy = await startFaultProxy(primary.url)
  const effects = await startEffectsServer()
  const tools = effectTools(effects)
  const log: string[] = []
  const gates = { first: gate(), second: gate() }
  const agent = defineAgent({
    name: 'three-calls', version: '1', inputSchema: z.object({}), payloadSchema: z.string(), tools,
    async* split() { yield* [] },
    async run({ payload: subject, tools: call }) {
      await call.opaque({ subject: `${subject} kept` })
      await gates.first.opened
      await call.opaque({ subject: `${subject} lost` })
      await gates.second.opened
      await call.opaque({ subject: `${subject} last` })
      return {}
    },
    async finalize() { return {} },
  })
  const watcher = new Ledger({ url: proxy.url, name: 'watcher', connections: 1 })
  return {
    folder, primary, proxy, effects, agent, log,
    open: (name) => gates[name].open(),
    fleet: () => VirtualWorkers.open({ url: proxy.url, agents: [agent], timings: { heartbeatEveryMs: 200 }, log: (level, line) => log.push(`${level} ${line}`) }),
    rows: async <R extends Record<string, unknown>>(text: string) => await watcher.query<R>(text, [], { retryForMs: 30_000 }),
    async close() {
      await watcher.close()
      await effects.close()
      await proxy.close()
      await primary.release()
      for (const path of [primary.folder, folder]) rmSync(path, { recursive: true, force: true })
    },
  }
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => {}
  const opened = new Promise<void>((resolve) => { open = resolve })
  return { opened, open }
}
