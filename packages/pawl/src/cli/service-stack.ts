/** Services started one on the other, and stopped in the reverse order: what was started last leans on the rest. */
export class ServiceStack {
  readonly #stops: { readonly name: string; readonly stop: () => Promise<unknown> }[] = []

  /** Starts one more, and remembers how it is stopped. */
  async add<T>(name: string, start: () => Promise<T>, stop: (service: T) => Promise<unknown>): Promise<T> {
    const service = await start()
    this.#stops.push({ name, stop: () => stop(service) })
    return service
  }

  /** Stops all, also when one of them fails to; gives back the failures. */
  async stop(onStop: (name: string) => void = () => undefined): Promise<Error[]> {
    const failures: Error[] = []
    for (let next = this.#stops.pop(); next !== undefined; next = this.#stops.pop()) {
      onStop(next.name)
      try {
        await next.stop()
      } catch (error) {
        failures.push(error instanceof Error ? error : new Error(String(error)))
      }
    }
    return failures
  }
}
