export * from './define-tool.ts'
export { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'
export * from './not-sent.ts'
export * from './verdict.ts'
