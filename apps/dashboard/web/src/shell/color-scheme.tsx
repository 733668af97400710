import { ActionIcon, Tooltip, useMantineColorScheme } from '@mantine/core'
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react'

const schemes = [['auto', 'as the system has it', IconDeviceDesktop], ['light', 'light', IconSun], ['dark', 'dark', IconMoon]] as const

/** Light, dark, or as the system has it, in turn. Kept in this browser. */
export function ColorScheme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const at = Math.max(0, schemes.findIndex(([name]) => name === colorScheme))
  const [, word, Icon] = schemes[at] ?? schemes[0]
  const [next, nextWord] = schemes[(at + 1) % schemes.length] ?? schemes[0]
  return (
    <Tooltip label={`Colours: ${word}`}>
      <ActionIcon variant="subtle" color="gray" aria-label={`Colours: ${word}. Change to: ${nextWord}`} onClick={() => setColorScheme(next)}><Icon size={18} /></ActionIcon>
    </Tooltip>
  )
}
