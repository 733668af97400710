import type { ReactNode } from 'react'

/** One line of what is on record. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>
}
