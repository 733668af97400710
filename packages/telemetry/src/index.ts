/** What the apps tell of themselves: metrics by the table in core, and spans to a collector. The SDKs are here and in no room below. */
export { harnessMetrics, registerGauge, registerMetrics } from './meter.ts'
export { startTraces, type TraceTarget } from './traces.ts'
