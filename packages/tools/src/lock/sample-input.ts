/**
 * Inputs made up from a tool's schema, to see what its key function makes of them. Pure and the same on every machine: a value follows from the
 * path and the type of its field alone, so a field that is added changes no other value. Two draws that differ in every free field tell which
 * fields the key looks at.
 */
import { z } from 'zod'

type Schema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)
const numberIn = (schema: Schema, name: string): number | undefined => (typeof schema[name] === 'number' ? schema[name] : undefined)

/** @param draw 1, 2, …: another one for each. Undefined: no input that the schema itself takes could be made up. */
export function sampleInput(schema: z.ZodType, draw: number): unknown {
  try {
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', cycles: 'throw' }) as Schema
    const parsed = schema.safeParse(valueOf(json, 'input', draw, json))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

function valueOf(schema: Schema, path: string, draw: number, root: Schema): unknown {
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][(draw - 1) % schema['enum'].length] as unknown
  const choice = [schema['anyOf'], schema['oneOf'], schema['allOf']].find((one) => Array.isArray(one) && one.length > 0) as unknown[] | undefined
  if (choice) return isSchema(choice[0]) ? valueOf(choice[0], path, draw, root) : null
  if (typeof schema['$ref'] === 'string') return valueOf(resolve(schema['$ref'], root), path, draw, root)
  const type = Array.isArray(schema['type']) ? (schema['type'][0] as unknown) : schema['type']
  switch (type) {
    case 'string': return textOf(schema, path, draw)
    case 'integer': case 'number': return numberOf(schema, draw)
    case 'boolean': return draw % 2 === 1
    case 'array': return listOf(schema, path, draw, root)
    case 'object': return objectOf(schema, path, draw, root)
    case 'null': return null
    default: return `${path}-${draw}`
  }
}

function resolve(ref: string, root: Schema): Schema {
  const found = ref.split('/').slice(1).reduce<unknown>((place, name) => (isSchema(place) ? place[name] : undefined), root)
  if (!isSchema(found)) throw new Error(`the schema has no ${ref}`)
  return found
}

function objectOf(schema: Schema, path: string, draw: number, root: Schema): unknown {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, isSchema(inner) ? valueOf(inner, name, draw, root) : `${path}.${name}-${draw}`]))
}

function listOf(schema: Schema, path: string, draw: number, root: Schema): unknown[] {
  const inner = schema['items']
  const length = Math.max(1, numberIn(schema, 'minItems') ?? 1)
  return Array.from({ length }, (_, i) => (isSchema(inner) ? valueOf(inner, `${path}-${i + 1}`, draw, root) : `${path}-${i + 1}-${draw}`))
}

function numberOf(schema: Schema, draw: number): number {
  const step = numberIn(schema, 'multipleOf') ?? 1
  const above = numberIn(schema, 'exclusiveMinimum')
  const least = numberIn(schema, 'minimum') ?? (above === undefined ? 0 : above + step)
  const first = Math.ceil(Math.max(least, Number.MIN_SAFE_INTEGER / 2) / step) * step
  const value = first + draw * step
  const most = numberIn(schema, 'maximum') ?? Infinity
  return value <= most ? value : first
}

const digits = (draw: number, length: number): string => String(draw).padStart(length, '0')

const formats: Readonly<Record<string, (name: string, draw: number) => string>> = {
  email: (name, draw) => `${name}-${draw}@example.org`,
  uri: (name, draw) => `https://example.org/${name}/${draw}`,
  uuid: (_, draw) => `00000000-0000-4000-8000-${digits(draw, 12)}`,
  'date-time': (_, draw) => `2000-01-01T00:00:${digits(draw, 2)}Z`,
  date: (_, draw) => `2000-01-${digits(draw, 2)}`,
  time: (_, draw) => `00:00:${digits(draw, 2)}`,
  ipv4: (_, draw) => `192.0.2.${draw}`,
  ipv6: (_, draw) => `2001:db8::${draw}`,
  hostname: (name, draw) => `${name}-${draw}.example.org`,
}

function textOf(schema: Schema, path: string, draw: number): string {
  const name = path.replaceAll(/[^A-Za-z0-9]/g, '-').toLowerCase()
  const known = typeof schema['format'] === 'string' ? formats[schema['format']] : undefined
  if (known) return known(name, draw)
  const text = `${name}-${draw}`.padEnd(numberIn(schema, 'minLength') ?? 0, 'x')
  const most = numberIn(schema, 'maxLength')
  return most !== undefined && text.length > most ? `${draw}`.padEnd(most, 'x').slice(0, most) : text
}
