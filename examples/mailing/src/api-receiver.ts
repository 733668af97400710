/** A mail provider's HTTP API that honours keys, in its own process: `node api-receiver.js BOOK SLOW_MS`. The same key twice is one mail, the call still running included. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { writeReceipt } from './receipts.ts'

const [book = '', slowMs = '0'] = process.argv.slice(2)
const mails = new Map<string, string>()
const running = new Set<string>()
const mail = z.object({ to: z.email(), subject: z.string(), text: z.string() })

const app = new Hono()
app.post('/mails', async (c) => {
  const key = c.req.header('Idempotency-Key')
  if (key === undefined) return c.json({ error: 'Idempotency-Key is missing' }, 400)
  const { to } = mail.parse(await c.req.json())
  const known = mails.get(key)
  if (known !== undefined) {
    writeReceipt(book, { to, id: key, applied: false })
    return c.json({ messageId: known })
  }
  if (running.has(key)) return c.json({ error: 'this call is still running' }, 409)
  running.add(key)
  await sleep(Number(slowMs) / 2)
  const messageId = `m-${mails.size + 1}`
  mails.set(key, messageId)
  running.delete(key)
  writeReceipt(book, { to, id: key, applied: true })
  await sleep(Number(slowMs) / 2)
  return c.json({ messageId })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, (address) => process.stdout.write(`${address.port}\n`))
process.on('disconnect', () => process.exit(0))
