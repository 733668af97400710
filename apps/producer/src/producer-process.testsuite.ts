/** A producer in a process of its own, to be measured and killed: prints its URL, then, asked by a line on stdin, the most memory it ever had (kB). */
import { createInterface } from 'node:readline'
import { startProducer } from './index.ts'
import { stock } from './process-agents.testsuite.ts'

const producer = await startProducer({ agents: [stock], env: process.env, streamAliveMs: Number(process.env['TEST_STREAM_ALIVE_MS'] ?? '1000') })
process.stdout.write(`${producer.url}\n`)
for await (const _ of createInterface({ input: process.stdin })) process.stdout.write(`${process.resourceUsage().maxRSS}\n`)
await producer.close()
