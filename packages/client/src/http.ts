/** What runs in a browser too: the client over HTTP, and the shapes of what it gives. Nothing here may reach the ledger or Node's own modules. */
export type * from './contract.ts'
export { createHttpClient, type HttpOptions } from './http-client.ts'
export * from './left-out.ts'
export * from './wire.ts'
export * from './wire-bulk.ts'
export * from './wire-export.ts'
export * from './wire-looks.ts'
