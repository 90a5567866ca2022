/** @file model.d.ts of an export: TypeScript's types of its samples and outputs, for openPredictor<Model>(). */
import { fieldsOf } from './fields.ts'
import type { ExportManifest, ExportSlot } from './manifest.ts'

const ARRAYS = {
  float32: 'Float32Array',
  float64: 'Float64Array',
  int64: 'BigInt64Array',
  int32: 'Int32Array',
  bool: 'Uint8Array',
} as const

/** What the outputs do not use may be left out of a sample. */
export function typesText({
  slots,
  outputs,
}: {
  readonly slots: readonly ExportSlot[]
  readonly outputs: ExportManifest['outputs']
}): string {
  const fields = fieldsOf(slots)
  const types = fields.map(({ slots }) => allOf([...new Set(slots.map(valueType))]))
  const named = Object.entries(NAMED).flatMap(([name, text]) =>
    types.some((type) => type.includes(name)) ? [text] : [],
  )
  const samples = fields.map(({ name, slots, needed }, i) => [
    `    /** ${[...new Set(slots.map(describe))].join(' ')}${needed ? '' : ' The outputs do not use it.'} */`,
    `    readonly ${property(name)}${needed ? '' : '?'}: ${types[i]}`,
  ])
  const results = outputs.map(({ name, dtype, shape }) => [
    `    /** [${shape.join(', ')}] */`,
    `    readonly ${property(name)}: { readonly data: ${ARRAYS[dtype]}; readonly dims: readonly number[] }`,
  ])
  const lines = [
    '/** Types of the export in this folder, written with it: openPredictor<Model>(...). */',
    ...named,
    'export interface Model {',
    '  readonly sample: {',
    ...samples.flat(),
    '  }',
    '  readonly outputs: {',
    ...results.flat(),
    '  }',
    '}',
  ]
  return `${lines.join('\n')}\n`
}

/** Types that fields share, written where one of them is used. */
const NAMED = {
  Ids: `/** One id or several, of 64 bits without sign: above 2^53 as a bigint or as text. */
type Ids = number | bigint | string | ArrayLike<number | bigint | string>
`,
  Raw: `/** One text or id, or several, of which the model makes its ids. */
type Raw = number | bigint | string | ArrayLike<number | bigint | string>
`,
  Measured: `/** A number, or text that is one. */
type Measured = number | string | ArrayLike<number | string>
`,
} as const

const RAW: Readonly<
  Record<NonNullable<ExportSlot['feature']>['kind'], readonly [type: keyof typeof NAMED, what: string]>
> = {
  hash: ['Raw', 'Any text or id: hashed.'],
  vocabulary: ['Raw', 'A word of a vocabulary.'],
  ids: ['Ids', 'Ids, in one text or as a list.'],
  bucketise: ['Measured', 'A number: put into a bucket.'],
  log: ['Measured', 'A number: its logarithm is taken.'],
  cross: ['Ids', ''],
}

function describe(slot: ExportSlot): string {
  if (slot.feature) return RAW[slot.feature.kind][1]
  if (slot.kind === 'sparse') return 'At least one id.'
  const values = slot.width === 1 ? 'One value' : `${slot.width} values`
  return slot.dtype === 'float32' ? `${values}.` : `${values}, whole numbers.`
}

function valueType(slot: ExportSlot): string {
  if (slot.feature) return RAW[slot.feature.kind][0]
  if (slot.kind === 'sparse') return 'Ids'
  const one = slot.dtype === 'float32' ? 'number' : 'number | bigint | string'
  return slot.width === 1 ? `${one} | ArrayLike<${one}>` : `ArrayLike<${one}>`
}

/** A field of which several slots are made must do for each. */
const allOf = (types: readonly string[]): string => (types.length === 1 ? types[0]! : `(${types.join(') & (')})`)

const property = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
