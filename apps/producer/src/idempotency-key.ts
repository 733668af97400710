/** The `Idempotency-Key` of a request. Header values are bytes to Node; a key that is UTF-8 is read as such. */
export function keyOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}
