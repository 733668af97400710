/**
 * The figures of a host's worker processes as one. A child that does not answer in time is told with what it told last; what a dead one had counted stays
 * counted, because a counter that falls looks to Prometheus like one that began anew, and everything it ever counted like news.
 */
import { AggregatorRegistry, type Registry } from 'prom-client'
import type { Figures } from './child-figures.ts'

export class FleetFigures {
  readonly #latest = new Map<string, Figures>()
  #ended: Figures = []

  take(childId: string, figures: Figures): void {
    this.#latest.set(childId, figures)
  }

  /** Keeps its counters; its gauges end with it. */
  async end(childId: string): Promise<void> {
    const last = this.#latest.get(childId)
    this.#latest.delete(childId)
    if (last === undefined) return
    const kept = await aggregate([this.#ended, last.filter(({ type }) => isCounted(type))]).getMetricsAsJSON()
    this.#ended = kept
  }

  async text(): Promise<string> {
    return await aggregate([this.#ended, ...this.#latest.values()]).metrics()
  }
}

const aggregate = (parts: readonly Figures[]): Registry => AggregatorRegistry.aggregate(parts.filter((part) => part.length > 0).map((part) => [...part]))
/** prom-client tells the type by name, whatever its types say. */
const isCounted = (type: unknown): boolean => type === 'counter' || type === 'histogram'
