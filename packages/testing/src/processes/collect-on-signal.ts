/** A full collection on SIGUSR2: a soak asks what a process keeps, not what V8 has not got round to throwing away. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export function collectOnSignal(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  process.on('SIGUSR2', () => collect())
}
