/**
 * Text of the ledger, as text: what could mislead the eye (bidirectional overrides, zero-width and control characters) is shown by its
 * number. Values are shown as the ledger keeps them.
 */
import { Anchor, Code, Text } from '@mantine/core'
import { useDisclosure, useElementSize } from '@mantine/hooks'
import { encode, hiddenCharacters, numberOfCharacter, omittedBytes } from '@pawl/core'
import { Fragment, type ReactNode } from 'react'

const isPlain = (character: string): boolean => character === '\n' || character === '\t'

export function Visible({ text }: { readonly text: string }) {
  const parts: ReactNode[] = []
  let from = 0
  for (const match of text.matchAll(hiddenCharacters)) {
    if (isPlain(match[0])) continue
    parts.push(text.slice(from, match.index), <mark key={match.index} className="hidden-character" title="a character that cannot be seen">{numberOfCharacter(match[0])}</mark>)
    from = match.index + match[0].length
  }
  parts.push(text.slice(from))
  return <>{parts.map((part, i) => <Fragment key={i}>{part}</Fragment>)}</>
}

const longest = 64_000
/** In pixels, as `.cut` has it. */
const cutHeight = 220

/** Indented JSON; what JSON cannot say, in the ledger's own encoding. */
export function textOf(value: unknown): string {
  const text = encode(value, { what: 'value' })
  return text.startsWith('~') ? text : JSON.stringify(value, null, 2)
}

export function Value({ value }: { readonly value: unknown }) {
  const [isWhole, { toggle }] = useDisclosure(false)
  const { ref, height } = useElementSize()
  if (value === undefined) return <Text span c="dimmed">none</Text>
  const left = omittedBytes(value)
  if (left !== undefined) return <Text size="sm" c="dimmed">left out here: {left.toLocaleString('en')} bytes</Text>
  const text = textOf(value)
  return (
    <>
      <div {...(isWhole ? {} : { className: 'cut' })}>
        <div ref={ref}>
          <Code block className="value"><Visible text={text.slice(0, longest)} /></Code>
          {text.length > longest && <Text size="sm" c="dimmed">… and {(text.length - longest).toLocaleString('en')} more characters; the HTTP API has all of them</Text>}
        </div>
      </div>
      {height > cutHeight && <Anchor component="button" type="button" size="sm" aria-expanded={isWhole} onClick={toggle}>{isWhole ? 'Show less' : 'Show all of it'}</Anchor>}
    </>
  )
}
