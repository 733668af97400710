/** Who works, what nobody works on, and what waits for a person. All from the ledger: it alone knows. */
import { limits } from '@pawl/core'
import type { AnyAgent } from '@pawl/harness'
import { countBacklog, type Ledger } from '@pawl/ledger'
import { z } from 'zod'
import { repinCommand } from '../cli/answers.ts'
import { many, plain } from '../cli/plain.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const workers = z.array(z.object({ host: z.string(), pid: z.number(), serves: z.array(z.string()), silentMs: z.coerce.number() }))
const lacks = z.array(z.object({ name: z.string(), n: z.number(), run: z.string(), lacks: z.string() }))
const facts = z.object({ orphans: z.coerce.number(), sweeps: z.boolean() })

export async function checkFleet(ledger: Ledger, agents: readonly AnyAgent[] | undefined): Promise<Finding[]> {
  const live = workers.parse(await ledger.query(`select host, pid, serves, extract(epoch from clock_timestamp() - heartbeat_at) * 1000 as "silentMs"
    from pawl.workers where heartbeat_at > clock_timestamp() - make_interval(secs => $1::double precision / 1000) order by started_at`, [limits.workerGoneAfterMs])).filter((worker) => worker.serves.length > 0)
  const backlog = await countBacklog(ledger)
  const [row] = await ledger.query(`select (select count(*) from pawl.items where status = 'in_progress' and lease_until < clock_timestamp()) as orphans,
    exists (select 1 from pawl.sweeper where holder is not null and lease_until > clock_timestamp()) as sweeps`)
  const { orphans, sweeps } = facts.parse(row)
  const served = new Set(live.flatMap((worker) => worker.serves))
  const lacking = lacks.parse(await ledger.query(`select r.agent || '@' || r.agent_version as name, count(*)::integer as n, min(r.id::text) as run,
      string_agg(distinct case when i.blocked_detail::jsonb ? 'tools' then i.blocked_detail::jsonb ->> 'tools' when i.blocked_detail::jsonb ? 'prompt' then 'another prompt'
        when i.blocked_detail::jsonb ? 'model' then 'another model' when i.blocked_detail::jsonb ? 'schema' then 'its schema' else 'its version' end, ', ') as lacks
    from pawl.items i join pawl.runs r on r.id = i.run_id where i.status = 'blocked' and i.blocked_reason = 'version' group by 1`))
  const waiting = backlog.map((part) => {
    const name = `${part.agent}@${part.agentVersion}`
    // Whoever waits for the version itself may be blocked for it already.
    const blockedForIt = served.has(name) ? 0 : (lacking.find((each) => each.name === name)?.n ?? 0)
    return { name, n: part.due + part.delayed + part.inProgress + blockedForIt }
  }).filter(({ n }) => n > 0)
  const blocked = backlog.reduce((sum, part) => sum + part.blocked, 0)
  return [
    checkWorkers(live, waiting.length > 0),
    ...checkVersions(waiting, served, agents, (name) => lacking.find((each) => each.name === name)?.run),
    ...lacking.filter((each) => served.has(each.name)).map((each) => warn('builds', `${many(each.n, 'item')} of ${plain(each.name)} wait for a build that has what they began with (${plain(each.lacks)})`,
      `Start such a build, or keep the older code in a newer one (previousTools, upcast); or move the run: ${repinCommand(each.run)}`)),
    live.length === 0 || sweeps
      ? ok('sweeper', sweeps ? 'one worker sweeps' : 'no worker, so nobody sweeps')
      : warn('sweeper', 'no worker sweeps right now', 'Ask again in some seconds. If it stays so, the workers do not reach the queue: see the line above about it.'),
    orphans === 0
      ? ok('orphans', 'no item is held by a worker that is gone')
      : warn('orphans', `${many(orphans, 'item')} in progress under an ended lease`, live.length === 0 ? 'Start a worker: pawl worker' : 'The sweep hands them on within seconds; ask again. If it stays so, look at the workers\' logs.'),
    blocked === 0 ? ok('blocked', 'no item waits for a person') : warn('blocked', `${many(blocked, 'item')} blocked`, 'pawl inbox'),
  ]
}

function checkWorkers(live: z.infer<typeof workers>, isNeeded: boolean): Finding {
  if (live.length === 0) {
    return isNeeded
      ? fail('workers', 'no worker is registered, and work is waiting', 'Start one: pawl worker')
      : warn('workers', 'no worker is registered', 'Start one before the next run: pawl worker')
  }
  const silent = live.filter((worker) => worker.silentMs > 3 * limits.heartbeatEveryMs)
  if (silent.length > 0) return warn('workers', `${silent.length} of ${many(live.length, 'worker')} silent for a while: ${silent.map((worker) => `pid ${worker.pid} on ${plain(worker.host)}`).join(', ')}`, 'If they are gone, others take their items over; if they hang, end them.')
  const serves = [...new Set(live.flatMap((worker) => worker.serves))].toSorted()
  return ok('workers', `${many(live.length, 'worker')} serve${live.length === 1 ? 's' : ''} ${plain(serves.join(', '))}`)
}

function checkVersions(waiting: readonly { name: string; n: number }[], served: ReadonlySet<string>, agents: readonly AnyAgent[] | undefined, aRunOf: (name: string) => string | undefined): Finding[] {
  const alone = waiting.filter(({ name }) => !served.has(name))
  const here = new Set((agents ?? []).flatMap((agent) => [agent.version, ...(agent.serves ?? [])].map((version) => `${agent.name}@${version}`)))
  if (alone.length === 0) return [ok('versions', 'every run with work has a worker for its version')]
  return alone.map(({ name, n }) => fail('versions', `${many(n, 'item')} of ${plain(name)} wait, and no live worker serves it`,
    `${here.has(name) ? "This folder's config has it: pawl worker" : 'Start workers that have it, or add the version to `serves` of a newer one'}; or move its runs: ${repinCommand(aRunOf(name) ?? '<run>', versionToMoveTo(name, served))}`))
}

/** One that is served now, where there is one. */
function versionToMoveTo(name: string, served: ReadonlySet<string>): string {
  const agent = name.slice(0, name.lastIndexOf('@'))
  const other = [...served].filter((each) => each.startsWith(`${agent}@`)).toSorted().at(-1)
  return other === undefined ? '<version>' : plain(other.slice(agent.length + 1))
}
