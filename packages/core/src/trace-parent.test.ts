import { expect, test } from 'vitest'
import { newRunId } from './ids.ts'
import { readTraceParent, traceIdOf, writeTraceParent } from './trace-parent.ts'

const text = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('a traceparent is read and written as it came', () => {
  const read = readTraceParent(text)
  expect(read).toEqual({ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 })
  expect(read && writeTraceParent(read)).toBe(text)
})

test('what is none is nothing, however it came', () => {
  for (const wrong of [undefined, null, '', text.slice(1), `${text}-x`, text.toUpperCase(), text.replace('00-', 'ff-'), `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`]) {
    expect(readTraceParent(wrong), String(wrong)).toBeUndefined()
  }
  expect(writeTraceParent({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 })).toBeNull()
})

test('a run without a trace has one all the same', () => {
  expect(readTraceParent(`00-${traceIdOf(newRunId())}-b7ad6b7169203331-01`)).toBeDefined()
})
