/**
 * As much of Helm's template language as deploy/helm/pawl uses, so that its manifests can be looked at where there is no Helm: values, `if`, `if not`,
 * `quote`, `mul`, `toYaml | nindent`. Anything else throws: a chart that outgrows this is to be rendered by Helm.
 */
import { stringify } from 'yaml'

type Values = Readonly<Record<string, unknown>>

export function renderTemplate(text: string, context: { readonly Values: Values; readonly Release: { readonly Name: string } }): string {
  const stack: boolean[] = []
  const parts = text.split(/(\s*\{\{-.*?\}\}|\{\{.*?\}\})/g)
  let out = ''
  for (const part of parts) {
    const code = /\{\{-?\s*(.*?)\s*-?\}\}$/s.exec(part)?.[1]
    const isShown = stack.every((shown) => shown)
    if (code === undefined) out += isShown ? part : ''
    else if (code === 'end') {
      if (stack.pop() === undefined) throw new Error('{{ end }} without an if')
    } else if (code.startsWith('if ')) stack.push(isTrue(code.slice(3)))
    else if (isShown) out += valueOf(code)
  }
  if (stack.length > 0) throw new Error('an {{ if }} without its end')
  return out

  function isTrue(code: string): boolean {
    return code.startsWith('not ') ? !isTrue(code.slice(4)) : Boolean(look(code))
  }

  function valueOf(code: string): string {
    const [first = '', ...pipes] = code.split('|').map((one) => one.trim())
    const [name, ...args] = first.split(/\s+/)
    let value: unknown = name === 'mul' ? args.map((arg) => Number(look(arg))).reduce((a, b) => a * b, 1) : name === 'toYaml' ? stringify(look(args[0] ?? '')).trimEnd() : look(first)
    for (const pipe of pipes) {
      const indent = /^nindent (\d+)$/.exec(pipe)?.[1]
      if (pipe === 'quote') value = JSON.stringify(String(value))
      else if (indent !== undefined) value = `\n${String(value).split('\n').map((line) => ' '.repeat(Number(indent)) + line).join('\n')}`
      else throw new Error(`unknown: | ${pipe}`)
    }
    return String(value)
  }

  function look(path: string): unknown {
    if (!/^\.(Values|Release)(\.\w+)+$/.test(path)) throw new Error(`unknown: ${path}`)
    return path.slice(1).split('.').reduce((at: unknown, name) => {
      if (typeof at !== 'object' || at === null || !(name in at)) throw new Error(`${path} is not among the values`)
      return (at as Record<string, unknown>)[name]
    }, context)
  }
}
