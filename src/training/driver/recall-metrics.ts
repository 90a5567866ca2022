/** @file runner.recall_at: after an evaluation all items are ranked for each of its users. */
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { createVectors, NearestKernel, setVectors } from '../../base/kernel/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Columns } from '../../data/index.ts'
import { openTrainerGraph } from '../../inference/export/index.ts'
import { lastSigns, leftOut, unknownSlots } from '../../inference/recall/index.ts'
import { type TracedModel, VECTOR } from '../../model/index.ts'
import { rankingSums } from '../../weights/metric/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import type { PassHooks } from '../threads/index.ts'
import { computeItems, planVectors } from './compute-vectors.ts'
import { itemsOf, readColumns } from './vectors.ts'

/** Throws where the model cannot be measured so; before anything is trained. */
export function checkRecall({ runner }: JobConfig, model: TracedModel): void {
  if (runner.recall_at.length === 0) return
  planVectors(model, 'user')
  const { takenSlot, program } = model.vectors!
  if (takenSlot === undefined && !program.fetches.some(({ name }) => name === VECTOR.taken)) throw nothingTaken()
  const unknown = unknownSlots(model.slots, runner.recall_exclude)
  if (unknown) throw unknown
}

export interface RecallPass {
  readonly config: JobConfig
  readonly model: TracedModel
  /** No thread may train meanwhile. */
  readonly params: LocalParams
  /** What is evaluated. */
  readonly files: readonly string[]
  /** Rows are on a disk, too. */
  readonly tiered: boolean
  readonly emit: EventSink
}

/** What an evaluation measures when its batches are done; undefined where the configuration asks for nothing. */
export function recallHooks(pass: RecallPass): Pick<PassHooks, 'measure'> | undefined {
  if (pass.config.runner.recall_at.length === 0) return undefined
  return { measure: () => measure(pass) }
}

/** Said where several processes evaluate. */
export function noticeAlone({ runner }: JobConfig, emit: EventSink): void {
  if (runner.recall_at.length > 0) emit({ kind: 'notice', message: `runner.recall_at: ${ALONE}` })
}

const ALONE =
  'all items are ranked in a job of one process alone; evaluate its saved epochs with `oarfish infer` in one process.'

async function measure(pass: RecallPass): Promise<Record<string, number>> {
  const { config, model, params, files, emit } = pass
  const { recall_at: at, recall_exclude: exclude } = config.runner
  if (pass.tiered) {
    emit({
      kind: 'notice',
      message: 'runner.recall_at: not with rows on a disk; load the saved epoch without a memory_limit.',
    })
    return {}
  }
  const { ids, data, dim } = await computeItems(model, params, await itemsOf(config, model))
  const vectors = createVectors(ids.length, dim)
  setVectors(vectors, 0, data)
  const kernel = new NearestKernel(vectors)
  const rowOf = new Map(Array.from(ids, (id, row) => [id, row]))
  const { takenSlot } = model.vectors!
  const plan = planVectors(model, 'user', ...(takenSlot === undefined ? [VECTOR.taken] : []))
  const interests = plan.outputs[0]!.shape.length === 3 ? Number(plan.outputs[0]!.shape[1]) : 1
  const graph = await openTrainerGraph(params, plan)
  let [sums, samples, missing]: [Record<string, number>, number, number] = [rankingSums([], at), 0, 0]
  try {
    for await (const columns of readColumns(config, model.slots, 'infer', files)) {
      const outputs = await graph.run(columns)
      const rows = takenOf(model, columns, outputs[VECTOR.taken]?.data).map((id) => rowOf.get(id))
      const own = rows.map((row) => row ?? 0)
      const left = exclude.length > 0 ? leftOut(model.slots, columns, exclude) : undefined
      const seen = left?.map((list) => list.flatMap((id) => rowOf.get(id) ?? []))
      const ranks = kernel.ranks({ data: outputs[VECTOR.user]!.data as Float32Array, interests }, own, seen)
      rows.forEach((row, i) => {
        if (row === undefined) ranks[i] = Number.POSITIVE_INFINITY
      })
      missing += rows.filter((row) => row === undefined).length
      samples += columns.samples
      const more = rankingSums(ranks, at)
      sums = Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum + more[name]!]))
    }
  } finally {
    await graph.close()
  }
  if (missing > 0)
    emit({
      kind: 'notice',
      message: `${missing} of ${samples} samples took an item that no vector is known of: they count as misses.`,
    })
  return sums
}

function takenOf({ slots, vectors }: TracedModel, columns: Columns, fetched: ArrayLike<unknown> | undefined): bigint[] {
  if (vectors!.takenSlot !== undefined) return lastSigns(slots, columns, vectors!.takenSlot)
  return Array.from(fetched as BigInt64Array, (id) => BigInt.asUintN(64, id))
}

function nothingTaken(): UserError {
  return new UserError('runner.recall_at: the model does not say which item the user of a sample took', {
    code: 'VECTORS_TAKEN',
    hint: "return vectors: { user, item, taken } from net(): taken is what sparse('item') or label('item') returned",
  })
}
