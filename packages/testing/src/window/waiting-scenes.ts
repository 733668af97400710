/** Brings about everything that can wait for a person, each in a run of its own or beside its like, and resolves when the ledger says that it waits. */
import type { BlockedReason } from '@pawl/core'
import type { ScenePayload } from './shop-agents.ts'
import type { World } from './world.ts'

export interface Scene {
  readonly reason: BlockedReason
  readonly runId: string
  readonly seq: number
  readonly order: string
}

/** Reads as another text than it is. */
export const disguised = 'invoice-\u202Efdp.exe\u200B'

type Brought = (world: World, order: string) => Promise<Scene>

const item = (order: string, does: ScenePayload['does'], more: Partial<ScenePayload> = {}) => ({ key: order, payload: { order, does, ...more } satisfies ScenePayload })

async function waits(world: World, reason: BlockedReason, runId: string, order: string, seq?: number): Promise<Scene> {
  return await world.until(`an item of run ${runId} (${order}) that waits: ${reason}`, async () => {
    const { entries } = await world.direct.listItems(runId, { status: 'blocked' })
    const found = entries.find((one) => one.blockedReason === reason && (seq === undefined || one.seq === seq))
    return found && { reason, runId, seq: found.seq, order }
  }, 120_000)
}

const alone = (reason: BlockedReason, does: ScenePayload['does'], more: Partial<ScenePayload> = {}): Brought => async (world, order) =>
  await waits(world, reason, await world.start('orders', '4', [item(order, does, more)], {}, { labels: { shop: 'north' } }), order)

/** How each reason comes about. */
export const bring: Readonly<Record<BlockedReason, Brought>> = {
  approval: alone('approval', 'payout', { text: `Refund, see ${disguised}` }),
  question: alone('question', 'ask'),
  conflict: alone('conflict', 'reword'),
  diverged: alone('diverged', 'wander'),
  crash_loop: alone('crash_loop', 'die'),
  tool_output: alone('tool_output', 'export'),
  async in_doubt(world, order) {
    world.effects.program(order, [{ drop: 'after' }])
    return await alone('in_doubt', 'book')(world, order)
  },
  /** Two items want one parcel booked: one is in doubt about it, the other waits for that one. */
  async key(world, order) {
    world.effects.program(`parcel of ${order}`, [{ drop: 'after' }])
    const book = (name: string) => item(name, 'book', { parcel: `parcel of ${order}` })
    const runId = await world.start('orders', '4', [book(order), book(`${order} again`)], {})
    await waits(world, 'in_doubt', runId, order)
    return await waits(world, 'key', runId, order)
  },
  async budget(world, order) {
    const runId = await world.start('desk', '2', [{ key: order, payload: { order, mood: 'thorough' } }], { shop: 'north' }, { policy: { itemBudget: { turns: 2 } } })
    return await waits(world, 'budget', runId, order)
  },
  async tool_input(world, order) {
    return await waits(world, 'tool_input', await world.start('desk', '2', [{ key: order, payload: { order, mood: 'confused' } }], { shop: 'north' }), order)
  },
  async version(world, order) {
    return await waits(world, 'version', await world.start('orders', '9', [item(order, 'refund')], {}), order)
  },
  /** The receiver refuses to take the refund back. */
  async undo(world, order) {
    const runId = await world.start('orders', '4', [item(order, 'refund')], {})
    await world.until(`run ${runId} to complete`, async () => ((await world.direct.getRun(runId)).status === 'completed' ? true : undefined))
    world.effects.program(order, Array.from({ length: 50 }, () => ({ refuse: 422 })))
    await world.direct.compensate(runId, { reason: 'the customer kept it' })
    return await waits(world, 'undo', runId, order)
  },
}

/** All of them at once. */
export async function bringAll(world: World, prefix = 'order'): Promise<ReadonlyMap<BlockedReason, Scene>> {
  const scenes = await Promise.all((Object.keys(bring) as BlockedReason[]).map(async (reason) => await bring[reason](world, `${prefix}-${reason.replace('_', '-')}`)))
  return new Map(scenes.map((scene) => [scene.reason, scene]))
}
