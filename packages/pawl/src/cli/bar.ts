/** Progress of long work: a bar on a terminal's stderr, so that stdout stays what was asked for; nothing anywhere else. */
import { Presets, SingleBar } from 'cli-progress'

export interface Bar {
  start(total: number): void
  step(n?: number): void
  stop(): void
}

const none: Bar = { start: () => undefined, step: () => undefined, stop: () => undefined }

export function openBar(format: string, isShown: boolean): Bar {
  if (!isShown || !process.stderr.isTTY) return none
  const bar = new SingleBar({ format, hideCursor: true, stream: process.stderr, barsize: 30, linewrap: false, clearOnComplete: true }, Presets.shades_classic)
  return { start: (total) => { bar.start(total, 0) }, step: (n = 1) => { bar.increment(n) }, stop: () => { bar.stop() } }
}
