/** @file The yaml's hyper_parameters as a schema of the draft: types and defaults from the values that stand there. */
import { keyText } from './names.ts'
import type { HyperParameters } from './session.ts'
import type { Value } from './value.ts'

/** The lines of `hyperParameters: { ... }`. */
export function printHyper({ values, asked }: HyperParameters, indent: string): readonly string[] {
  const missing = [...asked].filter(([key]) => !key.includes('.'))
  const groups = new Map<string, [string, Value][]>()
  for (const [key, value] of asked) {
    const [group, ...rest] = key.split('.')
    if (rest.length === 1) groups.set(group!, [...(groups.get(group!) ?? []), [rest[0]!, value]])
  }
  const known = Object.entries(values).filter(([, value]) => value !== null)
  const all = known.map(([name, value]) => entry(name, value, groups.get(name) ?? [], indent))
  const onlyAsked = [...groups.keys()].filter((group) => !Object.hasOwn(values, group))
  return [
    ...all,
    ...onlyAsked.map((name) => entry(name, {}, groups.get(name)!, indent)),
    ...missing
      .filter(([name]) => !known.some(([own]) => own === name))
      .map(([name, value]) => `${indent}${keyText(name)}: ${askedType(value)},`),
  ]
}

function entry(name: string, value: unknown, asked: readonly (readonly [string, Value])[], indent: string): string {
  if (name === 'optimizer' && isGroup(value)) return `${indent}optimizer: ${optimizerText(value, asked)},`
  return `${indent}${keyText(name)}: ${schemaOf(value, asked)},`
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function optimizerText(
  { class: own, strategy: _strategy, ...keys }: Record<string, unknown>,
  asked: readonly (readonly [string, Value])[],
): string {
  const known = Object.entries(keys).map(
    ([name, value]) => `${keyText(name)}: ${typeof value === 'number' ? numberText(value) : schemaOf(value, [])}`,
  )
  const more = asked
    .filter(([name]) => !Object.hasOwn(keys, name))
    .map(([name, value]) => `${keyText(name)}: ${askedType(value)}`)
  return `optimizerKeys('${typeof own === 'string' ? own : 'Adam'}', { ${[...known, ...more].join(', ')} })`
}

/** A rate may be written without a point. */
const numberText = (value: number) => `z.number().default(${value})`

function schemaOf(value: unknown, asked: readonly (readonly [string, Value])[]): string {
  const usual = `.default(${JSON.stringify(value)})`
  if (typeof value === 'number') return `${Number.isInteger(value) ? 'z.int()' : 'z.number()'}${usual}`
  if (typeof value === 'string') return `z.string()${usual}`
  if (typeof value === 'boolean') return `z.boolean()${usual}`
  if (Array.isArray(value)) return `${listType(value)}${usual}`
  if (!isGroup(value)) return 'z.unknown()'
  const keys = Object.entries(value).map(([name, own]) => `${keyText(name)}: ${schemaOf(own, [])}`)
  const more = asked
    .filter(([name]) => !Object.hasOwn(value, name))
    .map(([name, own]) => `${keyText(name)}: ${askedType(own)}`)
  return `z.strictObject({ ${[...keys, ...more].join(', ')} }).prefault({})`
}

function listType(value: readonly unknown[]): string {
  const kinds = new Set(
    value.map((own) =>
      Array.isArray(own)
        ? listType(own)
        : typeof own === 'number'
          ? 'z.number()'
          : typeof own === 'boolean'
            ? 'z.boolean()'
            : 'z.string()',
    ),
  )
  const [kind = 'z.number()', ...more] = kinds
  return `z.array(${more.length > 0 ? `z.union([${[...kinds].join(', ')}])` : kind})`
}

/** A key that the code asks for and the yaml has not: the code's default. */
function askedType(value: Value): string {
  if (value.kind === 'number') return numberText(value.value)
  if (value.kind === 'string') return `z.string().default(${JSON.stringify(value.value)})`
  if (value.kind === 'boolean') return `z.boolean().default(${value.value})`
  return 'z.number().nullable().default(null)'
}
