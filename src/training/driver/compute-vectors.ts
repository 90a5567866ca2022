/** @file Vectors out of weights of this process: the part of the net that makes them, run over all items or over samples. */
import { createHash } from 'node:crypto'
import type { Columns, Slot } from '../../data/index.ts'
import { denseWeights, type ExportPlan, openTrainerGraph, planOutputs } from '../../inference/export/index.ts'
import {
  emptyItems,
  itemsNeeded,
  lastSigns,
  type ModelMark,
  noVectors,
  repeatedItem,
  type Vectors,
} from '../../inference/recall/index.ts'
import { type TracedModel, VECTOR } from '../../model/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'

/** Items run at a time. */
const BATCH = 512

/** What tells this model from another: also one that was trained as long from the same seed. */
export function modelMark(
  params: LocalParams,
  { name, epoch, seed }: Pick<ModelMark, 'name' | 'epoch' | 'seed'>,
): ModelMark {
  const hash = createHash('sha256')
  for (const [key, weights] of denseWeights(params)) {
    hash.update(key)
    hash.update(new Uint8Array(weights.buffer, weights.byteOffset, weights.byteLength))
  }
  return { name, epoch, steps: params.dense.steps, seed, weights: hash.digest('hex').slice(0, 16) }
}

/** The part of a net that makes one of its vectors. */
export function planVectors(model: TracedModel, kind: 'item' | 'user', ...more: readonly string[]): ExportPlan {
  const { vectors } = model
  if (!vectors?.program.fetches.some(({ name }) => name === VECTOR[kind])) throw noVectors(kind)
  return planOutputs({ ...model, infer: vectors.program }, [VECTOR[kind], ...more])
}

/** Of every item: those of `items`, which are ids or samples; else all that the table of the id has a row of. */
export async function computeItems(
  model: TracedModel,
  params: LocalParams,
  items?: AsyncIterable<Columns> | BigUint64Array | undefined,
): Promise<Vectors> {
  const plan = planVectors(model, 'item')
  const id = model.vectors!.id
  const all = plan.outputs[0]!.shape[0] !== 'B'
  const given = all ? new BigUint64Array(1) : (items ?? tableIds(plan, params, id))
  const batches = given instanceof BigUint64Array ? idBatches(model, plan, given) : given
  const found = await run(plan, params, batches, VECTOR.item)
  const ids = all || id === undefined ? numbered(found.count) : idsOf(model.slots, found.columns, id)
  if (ids.length === 0) throw emptyItems(items ? 'the file' : 'its table')
  const seen = new Set<bigint>()
  for (const own of ids) {
    if (seen.has(own)) throw repeatedItem(own)
    seen.add(own)
  }
  return { ids, data: found.data, dim: found.dim, interests: 1 }
}

/** Of the user of each sample; ids are the places of the samples, from 0. */
export async function computeUsers(
  model: TracedModel,
  params: LocalParams,
  samples: AsyncIterable<Columns>,
): Promise<Vectors> {
  const { data, dim, interests, columns } = await run(planVectors(model, 'user'), params, samples, VECTOR.user)
  return { ids: numbered(columns.reduce((sum, { samples: n }) => sum + n, 0)), data, dim, interests }
}

/** Vectors by vectors, for whoever needs more of the samples than them. */
async function run(plan: ExportPlan, params: LocalParams, batches: AsyncIterable<Columns>, output: string) {
  const columns: Columns[] = []
  const parts: Float32Array[] = []
  const shape = plan.outputs[0]!.shape
  const graph = await openTrainerGraph(params, plan)
  try {
    for await (const batch of batches) {
      if (batch.samples === 0) continue
      parts.push((await graph.run(batch))[output]!.data.slice() as Float32Array)
      columns.push(batch)
    }
  } finally {
    await graph.close()
  }
  const data = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    data.set(part, at)
    at += part.length
  }
  const dim = Number(shape.at(-1))
  return { data, columns, dim, count: data.length / dim, interests: shape.length === 3 ? Number(shape[1]) : 1 }
}

/** Every id that the tables which an item's vector is made of have a row for, ascending. */
function tableIds(plan: ExportPlan, params: LocalParams, id: string | undefined): BigUint64Array {
  refuseOthers(plan, id)
  const tables = plan.inputs.flatMap((input) => (input.kind === 'rows' ? [input.table] : []))
  const ids = new Set<bigint>()
  for (const table of params.tables)
    if (tables.includes(table.name)) for (const { signs } of table.scan()) for (const sign of signs) ids.add(sign)
  return BigUint64Array.from(ids).sort()
}

/** Ids alone make no vectors where these need more than them. */
function refuseOthers({ slots }: ExportPlan, id: string | undefined): void {
  const others = slots.filter(({ name, needed }) => needed && name !== id).map(({ name }) => name)
  if (id === undefined || others.length > 0) throw itemsNeeded(others)
}

/** Samples that have an id and nothing else. */
async function* idBatches({ slots, vectors }: TracedModel, plan: ExportPlan, ids: BigUint64Array) {
  const { slots: planned } = plan
  if (plan.outputs[0]!.shape[0] === 'B') refuseOthers(plan, vectors!.id)
  const sparse = planned.filter(({ kind }) => kind === 'sparse')
  const place = sparse.findIndex(({ name }) => name === vectors!.id)
  const dense = slots.filter((slot) => slot.kind === 'dense')
  for (let from = 0; from < ids.length; from += BATCH) {
    const signs = ids.slice(from, from + BATCH)
    const counts = new Uint32Array(signs.length * sparse.length)
    if (place >= 0) for (let i = 0; i < signs.length; i++) counts[i * sparse.length + place] = 1
    yield {
      samples: signs.length,
      counts,
      starts: Uint32Array.from({ length: signs.length + 1 }, (_, i) => (place >= 0 ? i : 0)),
      signs: place >= 0 ? signs : new BigUint64Array(),
      dense: dense.map(
        ({ width, dtype }) => new (dtype === 'int64' ? BigInt64Array : Float32Array)(signs.length * width),
      ),
    } satisfies Columns
  }
}

const numbered = (count: number) => BigUint64Array.from({ length: count }, (_, i) => BigInt(i))

function idsOf(slots: readonly Slot[], columns: readonly Columns[], id: string): BigUint64Array {
  return BigUint64Array.from(columns.flatMap((batch) => lastSigns(slots, batch, id)))
}
