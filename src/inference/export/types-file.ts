/** @file model.d.ts of an export: TypeScript's types of its samples and outputs, for openPredictor<Model>(). */
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
  const ids = slots.some(({ kind }) => kind === 'sparse') ? [IDS] : []
  const samples = slots.map((slot) => [
    `    /** ${describe(slot)}${slot.needed ? '' : ' The outputs do not use it.'} */`,
    `    readonly ${property(slot.name)}${slot.needed ? '' : '?'}: ${valueType(slot)}`,
  ])
  const results = outputs.map(({ name, dtype, shape }) => [
    `    /** [${shape.join(', ')}] */`,
    `    readonly ${property(name)}: { readonly data: ${ARRAYS[dtype]}; readonly dims: readonly number[] }`,
  ])
  const lines = [
    '/** Types of the export in this folder, written with it: openPredictor<Model>(...). */',
    ...ids,
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

const IDS = `/** One id or several, of 64 bits without sign: above 2^53 as a bigint or as text. */
type Ids = number | bigint | string | ArrayLike<number | bigint | string>
`

function describe(slot: ExportSlot): string {
  if (slot.kind === 'sparse') return 'At least one id.'
  const values = slot.width === 1 ? 'One value' : `${slot.width} values`
  return slot.dtype === 'float32' ? `${values}.` : `${values}, whole numbers.`
}

function valueType(slot: ExportSlot): string {
  if (slot.kind === 'sparse') return 'Ids'
  const one = slot.dtype === 'float32' ? 'number' : 'number | bigint | string'
  return slot.width === 1 ? `${one} | ArrayLike<${one}>` : `ArrayLike<${one}>`
}

const property = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
