/**
 * Fields for a question's JSON Schema where it is flat: text, numbers, yes or no, one of a list. What is nested is a field of JSON, and what is not flat at
 * all is one such field. The ready-made form libraries compile their checks with `eval`, which the pages' policy forbids; the ledger checks the answer anyway. Pure.
 */
import { parseJson, PawlError } from '@pawl/core'
import { z } from 'zod'

export type FieldKind = 'text' | 'long' | 'number' | 'whole' | 'boolean' | 'choice' | 'json'

export interface Field {
  /** Null: the answer itself. */
  readonly name: string | null
  readonly kind: FieldKind
  readonly label: string
  readonly description: string | undefined
  readonly isRequired: boolean
  /** Of `choice`, as JSON. */
  readonly choices: readonly string[]
  readonly initial: string
}

const member = z.looseObject({
  type: z.string().optional(), title: z.string().optional(), description: z.string().optional(), enum: z.array(z.unknown()).optional(), const: z.unknown().optional(),
  default: z.unknown().optional(), minimum: z.number().optional(), maximum: z.number().optional(), minLength: z.number().optional(), maxLength: z.number().optional(),
  format: z.string().optional(), pattern: z.string().optional(),
})
const flat = z.looseObject({ type: z.literal('object'), properties: z.record(z.string(), z.unknown()), required: z.array(z.string()).optional() })

/** Longer texts get more room. */
const longFrom = 120
const none = { name: null, choices: [], initial: '' } as const

export function fieldsOf(schema: unknown): readonly Field[] {
  const object = flat.safeParse(schema)
  if (!object.success) return [fieldOf(null, schema, true)]
  const required = new Set(object.data.required)
  return Object.entries(object.data.properties).map(([name, of]) => fieldOf(name, of, required.has(name)))
}

function fieldOf(name: string | null, schema: unknown, isRequired: boolean): Field {
  const parsed = member.safeParse(schema)
  if (!parsed.success) return { ...none, name, kind: 'json', label: name ?? 'Your answer, as JSON', description: undefined, isRequired }
  const of = parsed.data
  const choices = of.enum ?? (of.const === undefined ? undefined : [of.const])
  const kind = choices !== undefined ? 'choice' : kindOf(of)
  const description = [of.description, ...limitsOf(of)].filter((part) => part !== undefined).join(' · ')
  return {
    name, kind, isRequired, label: of.title ?? name ?? (kind === 'json' ? 'Your answer, as JSON' : 'Your answer'), description: description === '' ? undefined : description,
    choices: (choices ?? []).map((choice) => JSON.stringify(choice)), initial: of.default === undefined ? '' : typeof of.default === 'string' && kind !== 'choice' && kind !== 'json' ? of.default : JSON.stringify(of.default),
  }
}

function kindOf({ type, maxLength }: z.infer<typeof member>): FieldKind {
  switch (type) {
    case 'string': return (maxLength ?? 0) > longFrom ? 'long' : 'text'
    case 'integer': return 'whole'
    case 'number': return 'number'
    case 'boolean': return 'boolean'
    default: return 'json'
  }
}

function limitsOf(of: z.infer<typeof member>): string[] {
  // What JSON Schema says of every whole number is no limit of this one.
  const isOwn = (n: number | undefined): n is number => n !== undefined && Math.abs(n) < Number.MAX_SAFE_INTEGER
  return [
    ...(isOwn(of.minimum) ? [`at least ${of.minimum}`] : []), ...(isOwn(of.maximum) ? [`at most ${of.maximum}`] : []),
    ...(of.minLength === undefined ? [] : [`${of.minLength} characters or more`]), ...(of.maxLength === undefined ? [] : [`${of.maxLength} characters at most`]),
    ...(of.format === undefined ? [] : [of.format]), ...(of.pattern === undefined ? [] : [`like ${of.pattern}`]),
  ]
}

export interface Filled {
  /** Undefined while a field is missing or wrong. */
  readonly value: unknown
  /** By field. */
  readonly wrong: ReadonlyMap<string | null, string>
}

/** The answer, from what was typed. An empty field that is not required is left away. */
export function fill(fields: readonly Field[], typed: ReadonlyMap<string | null, string>): Filled {
  const wrong = new Map<string | null, string>()
  const members: [string | null, unknown][] = []
  for (const field of fields) {
    const text = typed.get(field.name) ?? field.initial
    if (text === '') {
      if (field.isRequired) wrong.set(field.name, 'is needed')
      continue
    }
    try {
      members.push([field.name, valueOf(field, text)])
    } catch (error) {
      wrong.set(field.name, error instanceof PawlError ? error.message : 'is not what is asked for')
    }
  }
  if (wrong.size > 0) return { value: undefined, wrong }
  const whole = members.find(([name]) => name === null)
  return { value: whole ? whole[1] : Object.fromEntries(members.map(([name, value]) => [String(name), value])), wrong }
}

function valueOf({ kind, choices }: Field, text: string): unknown {
  switch (kind) {
    case 'text': case 'long': return text
    case 'choice': if (!choices.includes(text)) throw new PawlError('BAD_ANSWER', 'is none of the choices')
      return JSON.parse(text) as unknown
    case 'boolean': return text === 'true'
    case 'json': return parseJson(text, 'It')
    case 'whole': case 'number': {
      const value = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text.trim()) ? parseJson(text.trim(), 'It') : undefined
      if (typeof value !== 'number') throw new PawlError('BAD_ANSWER', 'is not a number')
      if (kind === 'whole' && !Number.isInteger(value)) throw new PawlError('BAD_ANSWER', 'is not a whole number')
      return value
    }
  }
}
