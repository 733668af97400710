export * from './define-agent.ts'
