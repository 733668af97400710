/** The API's description, and Swagger UI to read it, served from its package: nothing is asked of other hosts. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { documentPlain, type App } from '../route.ts'

const assets: Readonly<Record<string, string>> = { 'swagger-ui.css': 'text/css', 'swagger-ui-bundle.js': 'text/javascript' }
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Pawl API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="api"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script></body></html>
`
const start = "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#api', validatorUrl: null })\n"

export function addDocRoutes(app: App): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer', description: 'Listed in PAWL_TOKENS; none is needed on a loopback-only producer without tokens.' })
  documentPlain(app, '/openapi.json', 'This document.', 'application/json')
  documentPlain(app, '/docs', 'This document, to read and try.', 'text/html')
  let text: string | undefined
  app.get('/openapi.json', (c) => {
    text ??= JSON.stringify(app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: 'Pawl', version: '1', description: 'Start resumable agent runs, watch them, and answer what waits for a person.' } }))
    return c.body(text, 200, { 'content-type': 'application/json' })
  })
  app.get('/docs', (c) => c.html(page, 200, { 'content-security-policy': policy }))
  app.get('/docs/start.js', (c) => c.body(start, 200, { 'content-type': 'text/javascript' }))
  app.get('/docs/:asset', async (c) => {
    const name = c.req.param('asset')
    const type = Object.hasOwn(assets, name) ? assets[name] : undefined
    if (type === undefined) return c.notFound()
    const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    return c.body(await readFile(join(folder, name)), 200, { 'content-type': type })
  })
}
