/** @file What an export holds: the outputs asked for, the program that computes them, and where its inputs come from. */
import { inference } from '../../graph/autodiff/index.ts'
import { type Program, RANDOM_SEED } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { feedsMissing, noOutputs, randomOutputs, unknownName } from './errors.ts'
import type { ExportInput, ExportManifest, ExportSlot } from './manifest.ts'

/** PaddleRec's names of what goes in and comes out; empty lists mean all. */
export interface ExportNames {
  readonly feeds?: readonly string[] | undefined
  readonly fetches?: readonly string[] | undefined
}

export interface ExportPlan {
  /** Computes the outputs and nothing else. */
  readonly program: Program
  readonly slots: readonly ExportSlot[]
  readonly inputs: readonly ExportInput[]
  readonly outputs: ExportManifest['outputs']
  readonly score: ExportManifest['score']
}

const FEED_KEY = 'runner.save_inference_feed_varnames'
const FETCH_KEY = 'runner.save_inference_fetch_varnames'

/** Throws where names do not fit the model, so it is called before training. */
export function planExport(model: TracedModel, { feeds = [], fetches = [] }: ExportNames): ExportPlan {
  const outputs = chooseOutputs(model, fetches)
  const plan = planOutputs(model, outputs)
  checkFeeds(plan.slots, feeds, outputs)
  return plan
}

/** Of any fetches of the program for inference, the first of which is the score. */
export function planOutputs(model: TracedModel, outputs: readonly string[]): ExportPlan {
  const program = inference(model.infer, outputs)
  const used = new Set([...program.feeds.map(({ name }) => name), ...program.rows.flatMap(({ slots }) => slots)])
  const slots = model.slots.map((slot): ExportSlot => ({ ...slot, needed: used.has(slot.name) }))
  const [first] = program.fetches
  const columns = first!.shape.length > 1 ? first!.shape.at(-1) : 1
  return {
    program,
    slots,
    inputs: graphInputs(program, slots),
    outputs: program.fetches.map(({ name, dtype, shape }) => ({ name, dtype, shape: [...shape] })),
    // Of a prediction with several columns the last one counts, as for AUC.
    score: { output: first!.name, column: typeof columns === 'number' ? columns - 1 : 0 },
  }
}

/** The model's outputs, or where it names none what its AUC is measured on. */
function chooseOutputs({ infer, outputs, metrics }: TracedModel, wanted: readonly string[]): readonly string[] {
  const perSample = new Set(infer.fetches.filter(({ shape }) => shape[0] === 'B').map(({ name }) => name))
  const predictions = metrics.flatMap((metric) => (metric.kind === 'auc' ? [metric.prediction] : []))
  const known = (outputs.length > 0 ? outputs : predictions).filter((name) => perSample.has(name))
  if (known.length === 0) throw noOutputs()
  for (const name of wanted) if (!known.includes(name)) throw unknownName(FETCH_KEY, 'output', name, known)
  return wanted.length > 0 ? wanted : known
}

function checkFeeds(slots: readonly ExportSlot[], feeds: readonly string[], outputs: readonly string[]): void {
  if (feeds.length === 0) return
  const known = slots.map(({ name }) => name)
  for (const name of feeds) if (!known.includes(name)) throw unknownName(FEED_KEY, 'input', name, known)
  const missing = slots.filter(({ name, needed }) => needed && !feeds.includes(name)).map(({ name }) => name)
  if (missing.length > 0) throw feedsMissing(FEED_KEY, outputs, missing)
}

function graphInputs({ feeds, rows }: Program, slots: readonly ExportSlot[]): ExportInput[] {
  const masks = new Map(rows.map(({ name }) => [`${name}.mask`, name]))
  const names = new Set(slots.map(({ name }) => name))
  return [
    ...feeds.map(({ name, dtype, shape: dims }): ExportInput => {
      const tensor = { name, dtype, shape: [...dims] }
      const masked = masks.get(name)
      if (masked !== undefined) return { kind: 'mask', ...tensor, rows: masked }
      if (names.has(name)) return { kind: 'dense', ...tensor, slot: name }
      if (name === RANDOM_SEED) throw randomOutputs()
      throw new Error(`internal: nothing feeds "${name}"`)
    }),
    ...rows.map(({ name, dtype, shape, table, slots: own, dim, pooling }): ExportInput => {
      return { kind: 'rows', name, dtype, shape: [...shape], table, slots: [...own], dim, pooling }
    }),
  ]
}
