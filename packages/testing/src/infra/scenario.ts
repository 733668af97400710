/** How every scenario goes: its world is opened, something is done to it while items are live, everything comes to its end, and receivers and ledger are compared. */
import type { Ground } from './ground.ts'
import { Scene, type Backend, type SceneOptions } from './scene.ts'

export interface ScenarioReport {
  readonly name: string
  readonly ok: boolean
  readonly queue: Backend
  readonly runs: number
  readonly items: number
  readonly effects: number
  readonly duplicates: number
  readonly lost: number
  readonly violations: number
  /** Attempts that ended in an error: an outage is none of an item's. */
  readonly failures: number
  /** Calls a person had to decide on. */
  readonly doubts: number
  readonly seconds: number
  /** What was done, and how long it took to come back. */
  readonly figures: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

export type Scenario = (ground: Ground, queue: Backend) => Promise<ScenarioReport>

export interface Act {
  readonly name: string
  readonly scene: SceneOptions
  /** The scenario's own figures. What it finds wrong goes into `scene.problems`. */
  readonly play: (scene: Scene, ground: Ground) => Promise<Record<string, number>>
}

/** Kinds of warnings shown. */
const mostKinds = 6
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export async function playAct(ground: Ground, { name, scene: options, play }: Act): Promise<ScenarioReport> {
  const from = performance.now()
  const scene = await Scene.open(ground, options)
  try {
    let figures: Record<string, number> = {}
    try {
      figures = await play(scene, ground)
    } catch (error) {
      scene.problems.push(`it broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
    ground.heal()
    if (!(await scene.ended())) scene.problems.push('not everything came to its end')
    for (const [kind, n] of [...scene.warned].toSorted(([, a], [, b]) => b - a).slice(0, mostKinds)) ground.options.say(`  ${n} × ${kind}`)
    const { problems, knownHole: _hole, recallFromMemory, evidenceUsed, ...judged } = await scene.patiently(() => scene.verdict())
    const all = [
      ...scene.problems, ...problems,
      ...(judged.effects === 0 ? ['nothing proved: no effect arrived'] : []),
      ...(judged.failures > 0 ? [`${judged.failures} attempts failed because a service was away`] : []),
    ]
    return {
      name, ok: all.length === 0, queue: options.queue, ...judged, doubts: scene.doubts.answered, seconds: Math.round((performance.now() - from) / 1_000),
      figures: { ...figures, recallFromMemory, evidenceUsed, warnings: [...scene.warned.values()].reduce((sum, n) => sum + n, 0) }, problems: all.map((problem) => `${name} (${options.queue}): ${problem}`),
    }
  } finally {
    await scene.close()
  }
}

/** Somewhere between half and one and a half of it, from the seed. */
export async function rest(ground: Ground, about: number, ...parts: readonly (string | number)[]): Promise<void> {
  await pause(about * (0.5 + ground.chance.draw('rest', ...parts)))
}
