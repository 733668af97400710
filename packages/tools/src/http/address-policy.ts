/**
 * Which addresses `http.request` may reach. A model or a payload may choose the URL, so it must not reach the worker's
 * own network: loopback, private ranges, link-local (cloud metadata), and everything else that is not plain public
 * unicast. The check is made on the address that is connected to, not on the name: a name that resolves differently the
 * second time (DNS rebinding) gains nothing. Odd spellings (`0x7f.1`, `2130706433`) are made canonical by the URL parser.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector } from 'undici'
import { agentDefaults } from '../guarded-fetch.ts'

/** Thrown before anything is connected. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** Public unicast addresses that answer from inside a cloud: Azure's wire server. */
const insidePublicRanges = new Set(['168.63.129.16'])

/** All of IPv6 that is given out for the public. Outside it lie IPv4 addresses in old disguises (`::127.0.0.1`), which count as unicast. */
const publicIpv6 = ipaddr.IPv6.parseCIDR('2000::/3')

export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(publicIpv6)) return false
  return parsed.range() === 'unicast' && !insidePublicRanges.has(parsed.toString())
}

const unbracketed = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** `host:port` as it is written in `allowPrivate`. */
export function hostAndPort(url: URL): string {
  return `${unbracketed(url.hostname)}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
}

/** An agent whose connections go only to public addresses, or to the `host:port` pairs named in `allowPrivate`. */
export function createAddressAgent(allowPrivate: ReadonlySet<string>): Agent {
  const open = buildConnector({ allowH2: false })
  const onlyPublic = buildConnector({ allowH2: false, lookup: lookupPublic } as Parameters<typeof buildConnector>[0])
  return new Agent({
    ...agentDefaults,
    connect(options, callback) {
      const host = unbracketed(options.hostname)
      const port = options.port || (options.protocol === 'https:' ? '443' : '80')
      if (allowPrivate.has(`${host}:${port}`)) return open(options, callback)
      if (isIP(host) && !isPublicAddress(host)) return callback(refused(host, host), null)
      return onlyPublic(options, callback)
    },
  })
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void

function lookupPublic(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, [])
    const inside = addresses.find(({ address }) => !isPublicAddress(address))
    if (inside) return callback(refused(hostname, inside.address), [])
    const first = addresses[0]
    if (options.all || !first) return callback(null, addresses)
    return callback(null, first.address, first.family)
  })
}

function refused(host: string, address: string): AddressRefused {
  return new AddressRefused(`${host} is ${address}, which is not a public address. If this service is meant, name it in allowPrivate as "host:port".`)
}
