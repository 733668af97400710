/** A name server whose answers change from one question to the next, and this process's `lookup` made to ask it over UDP. */
import { createSocket } from 'node:dgram'
import dns, { Resolver, type LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

export interface NameServer {
  /** Addresses by name, one list for each lookup; the last one stays. */
  readonly answers: Map<string, string[][]>
  /** Lookups of a name so far. */
  lookups(name: string): number
  close(): Promise<void>
}

const typeA = 1
const typeAaaa = 28

function nameIn(packet: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = packet[at] ?? 0; length > 0; length = packet[at] ?? 0) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), end: at + 5 }
}

function reply(question: Buffer, end: number, addresses: readonly string[]): Buffer {
  const records = addresses.map((address) => {
    const bytes = Buffer.from(ipaddr.parse(address).toByteArray())
    return Buffer.concat([Buffer.from([0xc0, 12, 0, bytes.length === 4 ? typeA : typeAaaa, 0, 1, 0, 0, 0, 0, 0, bytes.length]), bytes])
  })
  const head = Buffer.from(question.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, question.subarray(12, end), ...records])
}

export async function startNameServer(): Promise<NameServer> {
  const answers = new Map<string, string[][]>()
  const counts = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (packet, { port, address }) => {
    const { name, end } = nameIn(packet)
    const wanted = packet.readUInt16BE(end - 4)
    const rounds = answers.get(name) ?? []
    const current = rounds[Math.min((counts.get(name) ?? 1) - 1, rounds.length - 1)] ?? []
    socket.send(reply(packet, end, current.filter((each) => isIPv6(each) === (wanted === typeAaaa))), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  const resolve = (name: string, type: 'A' | 'AAAA') => new Promise<string[]>((done) => { resolver.resolve(name, type, (error, found) => done(error === null ? found as string[] : [])) })
  const original = dns.lookup
  type Callback = (error: Error | null, address?: string | LookupAddress[], family?: number) => void
  const lookup = (name: string, options: { all?: boolean } | Callback, callback?: Callback): void => {
    const done = typeof options === 'function' ? options : callback ?? (() => undefined)
    if (!answers.has(name)) return (original as unknown as (...args: unknown[]) => void)(name, options, callback)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    void (async () => {
      const found = [...await resolve(name, 'A'), ...await resolve(name, 'AAAA')].map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
      const [first] = found
      if (first === undefined) done(Object.assign(new Error(`no address of ${name}`), { code: 'ENOTFOUND' }))
      else if (typeof options === 'object' && options.all === true) done(null, found)
      else done(null, first.address, first.family)
    })()
  }
  dns.lookup = lookup as unknown as typeof dns.lookup
  syncBuiltinESMExports()
  return {
    answers,
    lookups: (name) => counts.get(name) ?? 0,
    async close() {
      dns.lookup = original
      syncBuiltinESMExports()
      socket.close()
      await once(socket, 'close')
    },
  }
}
