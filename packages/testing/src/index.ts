export { audit, type AuditOptions, type EffectLogEntry } from './audit.ts'
export type { AuditReport, AuditViolation } from '@pawl/ledger'
