/** @file Samples that travel with an export, as `POST /predict` takes them, and what the trainer makes of them. */
import type { Columns, RawRecord, SampleValue } from '../../data/index.ts'
import { ortEngine, type TensorView } from '../../graph/engine/index.ts'
import { programInputs } from '../../graph/program/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { fieldsOf } from './fields.ts'
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

/** Records as instances: the raw fields that are needed, before any feature. */
export function rawInstances(slots: readonly ExportSlot[], records: readonly RawRecord[]): Instance[] {
  const needed = fieldsOf(slots).filter((field) => field.needed)
  return records.map((record) =>
    Object.fromEntries(needed.map(({ name, filling }) => [name, itemsOf(record[name] ?? filling)])),
  )
}

function itemsOf(value: SampleValue): readonly (number | string)[] {
  const list = typeof value === 'object' ? Array.from<number | bigint | string>(value) : [value]
  return list.map((item) => (typeof item === 'bigint' ? String(item) : item))
}

/** The given instances, and one with ids that no table has: its rows begin as training would begin them, but for those that a feature makes of ids. */
export function withUnseen(
  params: LocalParams,
  slots: readonly ExportSlot[],
  instances: readonly Instance[],
): Instance[] {
  const unseen = freeSign(params)
  const strange = fieldsOf(slots)
    .filter(({ needed }) => needed)
    .map(({ name, slots: own, filling }) => {
      const isIds = own.every(({ kind }) => kind === 'sparse')
      return [name, isIds ? [String(unseen)] : (instances[0]?.[name] ?? zeros(filling.length, own[0]!))]
    })
  return [...instances, Object.fromEntries(strange)]
}

/** Outputs as the trainer computes them: rows from its tables, weights from its dense block. */
export async function trainerOutputs(
  params: LocalParams,
  plan: ExportPlan,
  columns: Columns,
): Promise<Record<string, TensorView>> {
  const graph = await openTrainerGraph(params, plan, columns.signs)
  try {
    return await graph.run(columns)
  } finally {
    await graph.close()
  }
}

export interface TrainerGraph {
  /** Of samples whose signs are among those that it was opened with, where it was opened with some. */
  run(columns: Columns): Promise<Record<string, TensorView>>
  close(): Promise<void>
}

/** The same for several batches: compiled once, and the rows of `signs` looked up once; without them those of each batch are. */
export async function openTrainerGraph(
  params: LocalParams,
  { program, slots, inputs }: ExportPlan,
  signs?: BigUint64Array,
): Promise<TrainerGraph> {
  const rowsOf = (own: BigUint64Array) =>
    Object.fromEntries(params.tables.map(({ name }, index) => [name, trainerRows(params, index, own)]))
  const known = signs && rowsOf(signs)
  const weights = denseWeights(params)
  const dense = [...program.parameters, ...program.state].map(({ name, shape }) => [
    name,
    { data: weights.get(name)!, dims: shape as readonly number[] },
  ])
  const session = await ortEngine().compile(program)
  const run = async (columns: Columns) => {
    const tables = known ?? rowsOf(columns.signs)
    const given = { ...gatherInputs({ slots, inputs, tables }, columns), ...Object.fromEntries(dense) }
    return await session.run(Object.fromEntries(programInputs(program).map(({ name }) => [name, given[name]!])))
  }
  return { run, close: async () => await session.close() }
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

function zeros(width: number, slot: ExportSlot): (number | string)[] {
  return new Array<number | string>(width).fill(slot.kind === 'dense' && slot.dtype === 'int64' ? '0' : 0)
}
