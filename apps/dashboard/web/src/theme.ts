/** Colours and sizes. What a state looks like is said once, as CSS variables, for badges, bars and squares alike. */
import { Anchor, createTheme, Modal, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core'

/** The mark's green. */
const pawl: MantineColorsTuple = ['#e9f7f2', '#d3ebe2', '#a3d7c5', '#70c2a6', '#48b08b', '#2f9f7b', '#1f8667', '#1d6f5c', '#155848', '#0b4336']

/** Mantine's, with darker ends: white on its own 7, and its own 9 on its 1, cannot be read well enough. */
const red: MantineColorsTuple = ['#fff5f5', '#ffe3e3', '#ffc9c9', '#ffa8a8', '#ff8787', '#ff6b6b', '#e03131', '#c92a2a', '#b02525', '#901e1e']
const orange: MantineColorsTuple = ['#fff4e6', '#ffe8cc', '#ffd8a8', '#ffc078', '#ffa94d', '#ff922b', '#fd7e14', '#c2410c', '#a33a0c', '#8a3200']

export const theme = createTheme({
  primaryColor: 'pawl',
  // One for both grounds: Mantine picks the words' colour by the light one.
  primaryShade: 7,
  autoContrast: true,
  colors: { pawl, red, orange },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: 'sm',
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.1rem' }, h3: { fontSize: '1rem' } } },
  cursorType: 'pointer',
  components: {
    // A link among words is told from them by more than its colour.
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    // Mantine's is a header element, which would be a second banner of the page.
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, attributes: { header: { role: 'none' } } } }),
  },
  respectReducedMotion: true,
})

export const TONES = ['good', 'bad', 'warn', 'busy', 'rest', 'quiet', 'undone'] as const
export type Tone = (typeof TONES)[number]

const light: Readonly<Record<Tone, string>> = { good: '#1d7a5f', bad: '#c92a2a', warn: '#e8930c', busy: '#1c7ed6', rest: '#d0d5da', quiet: '#868e96', undone: '#7048e8' }
const dark: Readonly<Record<Tone, string>> = { good: '#37a884', bad: '#f06060', warn: '#f5b041', busy: '#4dabf7', rest: '#454b52', quiet: '#868e96', undone: '#9775fa' }
/** Words on the page's ground, in a contrast that can be read. */
const lightText: Readonly<Record<Tone, string>> = { ...light, warn: '#8f5600', busy: '#1864ab', rest: '#565e66', quiet: '#565e66', undone: '#5f3dc4', good: '#176349', bad: '#b02525' }
const darkText: Readonly<Record<Tone, string>> = { ...dark, rest: '#a6adb4', quiet: '#a6adb4', good: '#5cc7a4', bad: '#ff8787', undone: '#b197fc', busy: '#74c0fc' }

const variables = (fill: Readonly<Record<Tone, string>>, text: Readonly<Record<Tone, string>>): Record<string, string> =>
  Object.fromEntries(TONES.flatMap((tone) => [[`--pawl-${tone}`, fill[tone]], [`--pawl-${tone}-text`, text[tone]]]))

export const colours: CSSVariablesResolver = () => ({
  variables: {},
  light: { ...variables(light, lightText), '--mantine-color-dimmed': '#5c646c' },
  dark: { ...variables(dark, darkText), '--mantine-color-dimmed': '#a6adb4', '--mantine-color-anchor': pawl[3] },
})
