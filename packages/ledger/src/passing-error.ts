/**
 * Which errors say nothing about the statement: the connection broke, the server is starting, stopping or full (connections, memory,
 * disk), a deadlock victim was chosen. After a broken connection the outcome is unknown, and the same write with the same token decides.
 */
const passingStates = new Set(['57P01', '57P02', '57P03', '57P05', '53000', '53100', '53200', '53300', '40001', '40P01', '57014', '25P03', '55P03', '25006', '08006', '08003', '08000', '08001', '08004'])
const passingCodes = new Set([
  'CONNECTION_CLOSED', 'PAWL_DEADLINE',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH',
])

export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && (passingStates.has(code) || passingCodes.has(code))
}

/** node-postgres tells of a broken connection by words only; here it gets a code. */
export function withCode(error: unknown): unknown {
  return error instanceof Error && Object.getPrototypeOf(error) === Error.prototype && !('code' in error) ? Object.assign(error, { code: 'CONNECTION_CLOSED' }) : error
}
