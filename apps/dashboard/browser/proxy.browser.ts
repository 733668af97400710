/** The window behind a proxy that gives it a path of its own, which the proxy takes away again or does not (case 114). */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bring } from '../../../packages/testing/src/window/waiting-scenes.ts'
import { Ground } from './ground.ts'
import { settled } from './look.ts'
import { cardOf, choose, entryOf } from './steps.ts'

const path = '/ops/board'
let ground: Ground
const servers: Server[] = []

beforeAll(async () => { ground = await Ground.open() })
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await ground?.close()
})

/** @param target where it passes on to, known once it listens. */
async function startProxy(isStripping: boolean): Promise<{ readonly url: string; passTo(target: string): void }> {
  let target = ''
  const server = createServer((incoming, outgoing) => {
    const asked = incoming.url ?? '/'
    const passed = request(new URL(isStripping && asked.startsWith(path) ? asked.slice(path.length) || '/' : asked, target), { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  servers.push(server)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, passTo: (to) => { target = to } }
}

test.each([['takes the path away', true], ['leaves the path as it is', false]] as const)('behind a proxy that %s: pages, assets, deep links, answers and the board work', async (_, isStripping) => {
  const proxy = await startProxy(isStripping)
  const dashboard = await ground.startDashboard({ PAWL_DASHBOARD_URL: proxy.url })
  proxy.passTo(new URL(dashboard.url).origin)
  const seat = await ground.seat('olga', {}, proxy.url)
  const { runId, seq } = await bring.approval(ground.world, `proxied-${isStripping}`)
  for (const at of ['/', '/inbox', '/fleet', '/tools', `/runs/${runId}`, `/runs/${runId}/items/${seq}`]) {
    await seat.goto(at)
    await settled(seat.page)
    expect(new URL(seat.page.url()).pathname).toBe(`${path}${at}`)
  }
  const entry = await entryOf(ground.world.direct, runId, 'approval')
  await seat.goto(`/inbox?run=${runId}`)
  await choose(cardOf(seat.page, entry), { choice: 'Reject' })
  await cardOf(seat.page, entry).getByText('Rejected by you').waitFor()
  expect((await ground.world.direct.listActions(runId)).entries).toMatchObject([{ status: 'rejected' }])
  await seat.goto('/queues/')
  await seat.page.getByText(/orders/).first().waitFor()
  expect(seat.complaints).toEqual([])
})
