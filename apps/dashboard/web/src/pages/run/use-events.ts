/**
 * The run's events as they come: a stream that goes on where the last one ended, and while it cannot be had, a question every few seconds.
 * Read with `fetch`, not `EventSource`: that hears only events whose names it was told, and cannot say why it was refused.
 */
import { eventSchema, type PawlClient, type RunEvent } from '@pawl/client/http'
import { waitMs } from '@pawl/core'
import { useQueryClient } from '@tanstack/react-query'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { useEffect, useState } from 'react'
import { apiPath, useApi } from '../../api.ts'

/** Newest of them; the export has all. */
const kept = 500
const showEveryMs = 250
const askEveryMs = 2_000

export interface Events {
  /** Oldest first. */
  readonly events: readonly RunEvent[]
  readonly isStreaming: boolean
}

const none: Events = { events: [], isStreaming: false }

export function useEvents(runId: string): Events {
  const api = useApi()
  const queries = useQueryClient()
  const [shown, setShown] = useState<Events & { readonly runId: string }>({ ...none, runId })

  useEffect(() => {
    const gone = new AbortController()
    let events: readonly RunEvent[] = []
    let isStreaming = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined
        setShown({ events, isStreaming, runId })
      }, showEveryMs)
    }
    const setStreaming = (now: boolean): void => {
      isStreaming = now
      show()
    }
    const add = (more: readonly RunEvent[]): void => {
      if (more.length === 0) return
      events = [...events, ...more].slice(-kept)
      show()
      // What happened changes the run's head; all else is asked for every second anyway.
      void queries.invalidateQueries({ queryKey: ['run', runId, 'head'] }, { cancelRefetch: false })
    }
    const last = (): number | undefined => events.at(-1)?.id

    void (async () => {
      while (!gone.signal.aborted) {
        try {
          for await (const event of streamEvents(runId, last(), gone.signal, () => setStreaming(true))) add([event])
        } catch {
          // Told by `isStreaming`; the questions below tell whether anything answers at all.
        }
        setStreaming(false)
        if (!gone.signal.aborted) add(await ask(api, runId, last()))
        await waitMs(askEveryMs, gone.signal)
      }
    })()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [api, queries, runId])

  return shown.runId === runId ? shown : none
}

const ask = async (api: PawlClient, runId: string, after: number | undefined): Promise<readonly RunEvent[]> => await api.listEvents(runId, { after, limit: 1_000 }).catch(() => [])

async function* streamEvents(runId: string, after: number | undefined, signal: AbortSignal, onOpen: () => void): AsyncGenerator<RunEvent> {
  const response = await fetch(`${apiPath}/v1/runs/${encodeURIComponent(runId)}/events`, {
    headers: { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': String(after) }) }, signal,
  })
  if (!response.ok || response.body === null) throw new Error(`events of ${runId}: ${response.status}`)
  onOpen()
  const reader = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield eventSchema.parse(JSON.parse(value.data))
  }
}
