import { toneOf, words, type AnyStatus } from '../words.ts'

/** A state, as a word in its colour: never by colour alone. */
export function Status({ name, label }: { readonly name: AnyStatus; readonly label?: string }) {
  return <span className="state tone" data-tone={toneOf(name)}>{label ?? words(name)}</span>
}
