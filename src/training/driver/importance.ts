/** @file What each slot is worth to a trained model: the AUC that is lost when its values change places among the samples. */
import { join } from 'node:path'
import type { LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import { batchColumns, type Columns, openReader, type Slot, sliceColumns } from '../../data/index.ts'
import { openTrainerGraph, planOutputs, type TrainerGraph } from '../../inference/export/index.ts'
import { loadModel, type TracedModel } from '../../model/index.ts'
import { AUC_THRESHOLDS, aucOf, emptyAuc } from '../../weights/metric/index.ts'
import { loadSnapshot, openSnapshot, savedEpochs } from '../../weights/snapshot/index.ts'
import { createParams, findDataFiles, inputOf } from '../threads/index.ts'
import { optimizersOf } from './checkpoint.ts'
import { permutation, shuffled } from './shuffled.ts'

export interface ImportanceOptions {
  readonly config: LoadedConfig
  /** @default the newest that is saved */
  readonly epoch?: number | undefined
  /** Of the test data, at most. */
  readonly samples: number
  readonly rounds: number
  readonly emit: EventSink
  readonly signal?: AbortSignal | undefined
  /** After each slot. */
  readonly onSlot?: ((slot: SlotImportance, done: number, of: number) => void) | undefined
}

export interface SlotImportance {
  readonly slot: string
  /** AUC lost, the mean of the rounds, and how far they spread (their standard deviation). */
  readonly lost: number
  readonly spread: number
  readonly rounds: readonly number[]
}

export interface Importance {
  readonly epoch: number
  readonly samples: number
  readonly metric: string
  /** With every slot as it is. */
  readonly auc: number
  /** The most important first. */
  readonly slots: readonly SlotImportance[]
}

export async function importance(options: ImportanceOptions): Promise<Importance> {
  const { config: loaded, emit, rounds, signal, onSlot } = options
  const { config } = loaded
  const model = await loadModel(loaded)
  const metric = model.metrics.find((one) => one.kind === 'auc' && !one.report)
  if (metric?.kind !== 'auc')
    throw new UserError('The model measures no AUC, by which slots could be compared.', {
      code: 'IMPORTANCE_AUC',
      hint: 'Give the model a metric auc(prediction, label).',
    })
  const columns = await readColumns(loaded, model, options.samples)
  const epoch = options.epoch ?? (await savedEpochs(config.runner.model_save_path)).at(-1) ?? 0
  const snapshot = await openSnapshot(join(config.runner.model_save_path, String(epoch)), 'runner.model_save_path')
  const params = createParams(config, model, optimizersOf(snapshot.manifest), 1)
  await loadSnapshot({ snapshot, params, emit })
  const graph = await openTrainerGraph(params, planOutputs(model, [metric.prediction, metric.label]), columns.signs)
  try {
    const auc = await aucOn(graph, model, columns, metric)
    const needed = planOutputs(model, [metric.prediction]).slots.filter((slot) => slot.needed)
    const slots: SlotImportance[] = []
    for (const { name } of needed) {
      if (signal?.aborted) break
      const lost: number[] = []
      for (let round = 0; round < rounds; round++) {
        const order = permutation(columns.samples, 1 + round)
        lost.push(auc - (await aucOn(graph, model, shuffled(model.slots, columns, name, order), metric)))
      }
      slots.push({ slot: name, lost: mean(lost), spread: deviation(lost), rounds: lost })
      onSlot?.(slots.at(-1)!, slots.length, needed.length)
    }
    return { epoch, samples: columns.samples, metric: metric.name, auc, slots: slots.sort((a, b) => b.lost - a.lost) }
  } finally {
    await graph.close()
  }
}

async function readColumns({ config }: LoadedConfig, model: TracedModel, samples: number): Promise<Columns> {
  const { infer: files = [] } = await findDataFiles(config, ['infer'])
  const input = inputOf(config, 'infer', files)
  const { slots } = model
  const reader = openReader({
    ...input.reader,
    slots,
    threads: 1,
    files,
    format: input.format,
    batchSize: samples,
    epoch: 0,
  })
  for await (const batch of reader) return batchColumns(slots, batch)
  throw new UserError('There are no samples to try slots on.', { code: 'DATA_EMPTY', where: { file: files[0] ?? '' } })
}

/** Samples of one run of the graph: more gain no speed and take more memory. */
const RUN_SAMPLES = 2048

async function aucOn(
  graph: TrainerGraph,
  { slots }: { readonly slots: readonly Slot[] },
  columns: Columns,
  { prediction, label }: { readonly prediction: string; readonly label: string },
): Promise<number> {
  const histogram = emptyAuc()
  for (let from = 0; from < columns.samples; from += RUN_SAMPLES) {
    const to = Math.min(columns.samples, from + RUN_SAMPLES)
    const outputs = await graph.run(sliceColumns(slots, columns, from, to))
    const [scores, labels] = [outputs[prediction]!.data, outputs[label]!.data]
    const [wide, tall] = [scores.length / (to - from), labels.length / (to - from)]
    for (let i = 0; i < to - from; i++) {
      const score = Math.min(1, Math.max(0, Number(scores[i * wide + wide - 1])))
      const bucket = Math.round(score * AUC_THRESHOLDS)
      histogram[Number(labels[i * tall + tall - 1]) > 0 ? bucket : AUC_THRESHOLDS + 1 + bucket]! += 1
    }
  }
  return aucOf(histogram)
}

const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length
const deviation = (values: readonly number[]) =>
  values.length < 2
    ? 0
    : Math.sqrt(values.reduce((sum, one) => sum + (one - mean(values)) ** 2, 0) / (values.length - 1))
