/** @file Samples that travel with an export, as `POST /predict` takes them, and what the trainer makes of them. */
import { type Columns, createColumnWriter, type Sample } from '../../data/index.ts'
import { ortEngine, type TensorView } from '../../graph/engine/index.ts'
import { programInputs } from '../../graph/program/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { gatherInputs } from './gather.ts'
import type { ExportSlot } from './manifest.ts'
import type { ExportPlan } from './plan.ts'
import { denseWeights, trainerRows } from './rows.ts'

/** A sample by slot: ids as decimal text, since JSON numbers end at 2^53. */
export type Instance = Readonly<Record<string, readonly (number | string)[]>>

/** Columns as instances with the slots that are needed. */
export function instancesOf(slots: readonly ExportSlot[], columns: Columns): Instance[] {
  const sparse = slots.filter(({ kind }) => kind === 'sparse')
  const dense = slots.filter((slot) => slot.kind === 'dense')
  let first = 0
  return Array.from({ length: columns.samples }, (_, i) => {
    const signs = sparse.map(({ name }, s) => {
      const count = columns.counts[i * sparse.length + s]!
      first += count
      return [name, Array.from(columns.signs.subarray(first - count, first), String)] as const
    })
    const values = dense.map(({ name, width, dtype }, d) => {
      const own = Array.from<number | bigint>(columns.dense[d]!.subarray(i * width, (i + 1) * width))
      return [name, own.map((value) => (dtype === 'int64' ? String(value) : Number(value)))] as const
    })
    const byName = new Map<string, readonly (number | string)[]>([...signs, ...values])
    return Object.fromEntries(slots.filter(({ needed }) => needed).map(({ name }) => [name, byName.get(name)!]))
  })
}

/** Samples of an export are what features made of them, so that they are taken as they are. */
export function columnsOf(slots: readonly ExportSlot[], instances: readonly Instance[]): Columns {
  const writer = createColumnWriter(slots.map((slot): ExportSlot => ({ ...slot, feature: undefined })))
  for (const instance of instances) writer.add(instance as Sample)
  return writer.take().columns
}

/** The given instances, and one with signs that no table has: its rows begin as training would begin them. */
export function withUnseen(
  params: LocalParams,
  slots: readonly ExportSlot[],
  instances: readonly Instance[],
): Instance[] {
  const unseen = freeSign(params)
  const strange = slots
    .filter(({ needed }) => needed)
    .map((slot) => [
      slot.name,
      slot.kind === 'sparse' ? [String(unseen)] : (instances[0]?.[slot.name] ?? zeros(slot.width, slot.dtype)),
    ])
  return [...instances, Object.fromEntries(strange)]
}

/** Outputs as the trainer computes them: rows from its tables, weights from its dense block. */
export async function trainerOutputs(
  params: LocalParams,
  { program, slots, inputs }: ExportPlan,
  columns: Columns,
): Promise<Record<string, TensorView>> {
  const tables = Object.fromEntries(
    params.tables.map(({ name }, index) => [name, trainerRows(params, index, columns.signs)]),
  )
  const weights = denseWeights(params)
  const dense = [...program.parameters, ...program.state].map(({ name, shape }) => [
    name,
    { data: weights.get(name)!, dims: shape as readonly number[] },
  ])
  const given = { ...gatherInputs({ slots, inputs, tables }, columns), ...Object.fromEntries(dense) }
  const wanted = programInputs(program).map(({ name }) => [name, given[name]!])
  const session = await ortEngine().compile(program)
  try {
    return await session.run(Object.fromEntries(wanted))
  } finally {
    await session.close()
  }
}

/** The highest sign that no table has. */
function freeSign(params: LocalParams): bigint {
  const taken = new Set<bigint>()
  for (const table of params.tables)
    for (const { signs } of table.scan()) for (const sign of signs) if (sign >= HIGH) taken.add(sign)
  let sign = 2n ** 64n - 1n
  while (taken.has(sign)) sign--
  return sign
}

const HIGH = 2n ** 64n - 2n ** 20n

function zeros(width: number, dtype: 'float32' | 'int64'): (number | string)[] {
  return new Array<number | string>(width).fill(dtype === 'int64' ? '0' : 0)
}
