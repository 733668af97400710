/** In place of a value that a list leaves out stands `{ "$pawl": "omitted", "bytes": n }`. Its size; undefined: the value is there. Pure. */
export function omittedBytes(value: unknown): number | undefined {
  if (value === null || typeof value !== 'object' || !('$pawl' in value) || value.$pawl !== 'omitted') return undefined
  return 'bytes' in value && typeof value.bytes === 'number' ? value.bytes : undefined
}
