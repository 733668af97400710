/**
 * Waits for the signal that ends a service, or for the end of the process that forked it. A second signal is for people who will not wait: it ends
 * the process at once.
 */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (isStopping) process.exit(1)
        isStopping = true
        resolve(signal)
      })
    }
    process.once('disconnect', () => { resolve('SIGHUP') })
  })
}
