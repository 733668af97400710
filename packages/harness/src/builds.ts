/** What this process's code has for the runs of each agent version it serves, as the ledger compares it with a run's pins. Pure. */
import { offerOf } from '@pawl/tools'
import type { AnyAgent } from './define-agent.ts'

export const servedVersions = (agent: AnyAgent): string[] => [agent.version, ...(agent.serves ?? [])]

/** JSON by `agent@version`. `items`, `splits`: what of it the process takes. */
export function buildsOf(agents: readonly AnyAgent[], roles: readonly ('items' | 'splits')[]): string {
  const taken = { items: roles.includes('items'), splits: roles.includes('splits') }
  return JSON.stringify(Object.fromEntries(agents.flatMap((agent) => {
    const offer = offerOf(agent)
    return servedVersions(agent).map((version) => [`${agent.name}@${version}`, { ...offer, ...taken }])
  })))
}
