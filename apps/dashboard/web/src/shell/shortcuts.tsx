/** Keys: `g` and a letter go to a page, `/` searches, `?` lists them. Not while somebody types. */
import { Group, Kbd, Modal, Table, Text } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useRef } from 'react'
import { useNavigate } from 'react-router'
import { base } from '../place.ts'

const places = [['r', 'Runs', '/'], ['i', 'Inbox', '/inbox'], ['f', 'Fleet', '/fleet'], ['t', 'Tools', '/tools'], ['q', 'Queues', undefined]] as const
/** Between `g` and the letter. */
const patienceMs = 1_500

export function Shortcuts() {
  const navigate = useNavigate()
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const wentAt = useRef(0)
  const isGoing = (): boolean => Date.now() - wentAt.current < patienceMs
  useHotkeys([
    ['g', () => { wentAt.current = Date.now() }, { preventDefault: false }],
    ...places.map(([key, , path]): [string, () => void, { preventDefault: boolean }] => [key, () => {
      if (!isGoing()) return
      wentAt.current = 0
      if (path === undefined) location.assign(`${base}/queues/`)
      else void navigate(path)
    }, { preventDefault: false }]),
    ['/', () => {
      const field = document.querySelector<HTMLInputElement>('input[data-search]')
      if (field === null) void navigate('/?find')
      else field.focus()
    }],
    ['shift+?', toggle],
    ['?', toggle],
  ])
  return (
    <Modal opened={isOpen} onClose={close} title="Keys" size="sm">
      <Table>
        <Table.Tbody>
          {places.map(([key, name]) => <Row key={key} keys={['g', key]} does={`to ${name}`} />)}
          <Row keys={['/']} does="search" />
          <Row keys={['?']} does="these keys" />
          <Row keys={['←', '→', '↑', '↓', '↵']} does="in a run’s picture: walk over its items, open one" />
        </Table.Tbody>
      </Table>
    </Modal>
  )
}

function Row({ keys, does }: { readonly keys: readonly string[]; readonly does: string }) {
  return <Table.Tr><Table.Td><Group gap={4} wrap="nowrap">{keys.map((key) => <Kbd key={key}>{key}</Kbd>)}</Group></Table.Td><Table.Td><Text size="sm">{does}</Text></Table.Td></Table.Tr>
}
