/**
 * The pages as Vite built them into `dist/web`: one document, into which the dashboard writes where it is served and a nonce for styles, and
 * files whose names carry a digest, so that browsers may keep them for ever. Read once, and compressed once.
 */
import { PawlError } from '@pawl/core'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface Asset {
  readonly type: string
  readonly plain: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
}

export interface BuiltPages {
  document(base: string, nonce: string): string
  asset(name: string): Asset | undefined
}

const types: Readonly<Record<string, string>> = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' }

/** Beside `src/` and beside `dist/` alike. */
const folder = new URL('../../dist/web/', import.meta.url)

/** Throws `PAGES_NOT_BUILT`. */
export function readBuiltPages(from: URL = folder): BuiltPages {
  let text: string
  let assets: Map<string, Asset>
  try {
    text = readFileSync(new URL('index.html', from), 'utf8')
    assets = new Map(readdirSync(new URL('assets/', from)).flatMap((name) => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const plain = new Uint8Array(readFileSync(new URL(`assets/${name}`, from)))
      return [[name, { type, plain, gzipped: new Uint8Array(gzipSync(plain)) }] as const]
    }))
  } catch (cause) {
    throw new PawlError('PAGES_NOT_BUILT', 'The dashboard’s pages were not built. Run "npm run build" and start the dashboard again.', 'crash', {}, { cause })
  }
  return {
    document: (base, nonce) => text.replaceAll('./assets/', () => `${base}/assets/`).replaceAll('PAWL_BASE', () => base).replaceAll('PAWL_NONCE', () => nonce),
    asset: (name) => assets.get(name),
  }
}
