export * from './define-tool.ts'
export * from './not-sent.ts'
export * from './verdict.ts'
