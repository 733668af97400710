/** Traces to an OTLP collector, where the environment names one; without it nothing of the SDK is loaded. A collector that is slow or away costs spans, never work. */
import { spanIds } from '@pawl/harness'
import { diag, DiagLogLevel } from '@opentelemetry/api'
import type { Logger } from 'pino'

export interface TraceTarget {
  readonly endpoint: string | undefined
  /** Where `OTEL_SERVICE_NAME` does not say. */
  readonly service: string
  readonly instance: string
}

/** For what a collector that does not answer may cost a stop. */
const stopMs = 2_000
const sayAgainMs = 60_000

/** Resolves to what hands on the last spans and never rejects. */
export async function startTraces({ endpoint, service, instance }: TraceTarget, log: Logger): Promise<() => Promise<void>> {
  if (endpoint === undefined) return async () => {}
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, { detectResources, envDetector, resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'), import('@opentelemetry/exporter-trace-otlp-http'), import('@opentelemetry/resources'),
  ])
  listenTo(log)
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, timeoutMillis: 5_000 })
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.namespace': 'pawl', 'service.instance.id': instance, 'process.pid': process.pid }).merge(detectResources({ detectors: [envDetector] })),
    idGenerator: spanIds,
    spanLimits: { attributeValueLengthLimit: 300 },
    spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000, exportTimeoutMillis: 5_000, maxQueueSize: 4_096, maxExportBatchSize: 512 })],
  })
  provider.register()
  return async () => {
    await Promise.race([provider.shutdown().catch(() => {}), new Promise((resolve) => { setTimeout(resolve, stopMs).unref() })])
  }
}

/** The SDK's troubles, a line a minute at most. */
function listenTo(log: Logger): void {
  let saidAt = Number.NEGATIVE_INFINITY
  const say = (what: string): void => {
    if (performance.now() - saidAt < sayAgainMs) return
    saidAt = performance.now()
    log.warn(`traces cannot be handed on, which harms nothing else: ${what.slice(0, 300)}`)
  }
  diag.setLogger({ error: say, warn: say, info() {}, debug() {}, verbose() {} }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}
