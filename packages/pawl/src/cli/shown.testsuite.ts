import { Output } from './output.ts'

class Lines extends Output {
  readonly lines: string[] = []
  override line(text = ''): void { this.lines.push(text) }
}

/** What people are shown: the lines that `show` writes. */
export function shownBy(show: (out: Output) => void): string {
  const out = new Lines('text')
  show(out)
  return out.lines.join('\n')
}
