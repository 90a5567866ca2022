/** @file Collective training: the same steps as training alone, in step with the other ranks of a group. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Group } from '../../collective/index.ts'
import { explain } from '../../config/index.ts'
import { tellRank } from '../../data/index.ts'
import { INFERENCE_FOLDER } from '../../export/index.ts'
import { loadModel, loadModelAs, type TracedModel } from '../../model/index.ts'
import type { LocalParams } from '../../params/index.ts'
import { programHash } from '../../program/index.ts'
import { tableGroups } from '../buffers.ts'
import { checkData } from '../check-data.ts'
import { toldInterrupted } from '../checkpoint.ts'
import { exportCheckpoint, inferenceSaver, type SaveInference } from '../inference-model.ts'
import type { PassResult, PassStart } from '../loop.ts'
import type { Phase } from '../messages.ts'
import { pushedPart } from '../pushed-part.ts'
import { createParams, type DataFiles, findDataFiles, Runtime } from '../runtime.ts'
import { shownTables } from '../shown.ts'
import type { TrainOptions, TrainResult } from '../train.ts'
import type { JobCheckpoints } from '../worker-model.ts'
import { agree } from './agreement.ts'
import { groupExchange } from './group-exchange.ts'
import { meet } from './meet.ts'
import type { ParallelHandle } from './parallel-handle.ts'
import { agreeOnRanks } from './rank-input.ts'
import { RankModel } from './rank-model.ts'
import { rankPass } from './rank-pass.ts'
import { rankSeed } from './ranks.ts'
import { planTables, type TablePlan } from './table-plan.ts'

export interface TrainRanksOptions extends TrainOptions {
  /** Stays the caller's to close: with the error, where this rejects. */
  readonly group: Group
  /** Given to the model's createOptimizer. */
  readonly strategy?: unknown
  /** @default those of the folders that the config names */
  readonly files?: DataFiles
  /** In another order in each epoch, on every rank alike. @default `files` */
  readonly filesOf?: (epoch: number) => readonly string[]
  /** What every rank loads and rank 0 saves, where no table is divided. @default by the keys of `config` */
  readonly checkpoints?: JobCheckpoints
  /** What the start event shows. @default `config`, explained */
  readonly settings?: Readonly<Record<string, unknown>>
}

/** Trains its part as the config says; resolves when all ranks are done. */
export async function trainRanks(options: TrainRanksOptions): Promise<TrainResult> {
  const { group, config: loaded, emit, resume = false, digest = false, engine = 'ort', mode = 'static' } = options
  const started = performance.now()
  const { rank, size } = group
  const { config } = loaded
  const notice = (message: string) => emit({ kind: 'notice', message })
  for (const message of loaded.notices) notice(message)
  tellRank(rank, size)
  const stop = new AbortController()
  options.signal?.addEventListener('abort', () => stop.abort(), { once: true })
  if (options.signal?.aborted) stop.abort()

  const files = options.files ?? (await findDataFiles(config, ['train', 'infer']))
  const model = await loadModelAs(mode, loaded, options.strategy ?? { a_sync: false })
  await checkData(loaded, model, files)
  emit({ kind: 'start', command: 'train', model: config.dir, settings: options.settings ?? explain(config) })
  notice(`Rank ${rank} of ${size}: ${group.description}.`)
  if (!model.distributed)
    notice('The optimizer is taken as fleet.distributedOptimizer(optimizer): ranks step together.')
  if (config.runner.thread_num > 1)
    notice(`runner.thread_num ${config.runner.thread_num}: a rank trains on one thread; start more processes instead.`)
  await agree(group, config, model)
  const inputs = await agreeOnRanks({ group, config, model, files, emit })
  const params = createParams(config, model, model, 1, true)
  // Ranks may read files of their own, whose sizes differ: the first decides.
  const plans = await meet(group, await planTables(config, model, params, files.train!))
  const plan = plans[0]!
  for (const message of plan.notices) notice(message)
  const saveInference = await inferenceOf(options, model, params, files, plan)
  const checkpoints = { config, params, program: programHash(model.train), files: files.train!, resume, emit }
  const whole = new RankModel(group, checkpoints, plan.sharded)
  const own = options.checkpoints
  const start: PassStart = own ? startOf((await own.load?.({ params })) ?? 0) : await whole.start()
  const { epoch: first } = start.position
  const handle = (): ParallelHandle => ({
    kind: 'parallel',
    local: params.handle,
    seat: group.seat(),
    ...{ program: owned(model), groups: groupsOf(model, config.table_parameters), sharded: plan.sharded },
    segments: config.runner.table_segments,
    differ: model.dygraph !== undefined || pushedPart(model.train, params.dense.layout) !== undefined,
  })
  const runtime = await Runtime.open({
    ...{ config, model, files, threads: 1, engine, emit, signal: stop.signal },
    params: handle,
    seed: rankSeed(config.runner.seed, rank),
    exchange: groupExchange(group),
  })
  emit({ kind: 'ready', startupSeconds: (performance.now() - started) / 1000 })
  try {
    const pass = (phase: Phase, epoch: number) =>
      rankPass(
        {
          ...{ group, runtime, emit, files: files[phase] ?? [] },
          input: { ...inputs[phase], ...(options.filesOf && { files: options.filesOf(epoch) }) },
          stop: () => stop.abort(),
          stopped: () => stop.signal.aborted,
        },
        phase,
        epoch,
        phase === 'train' && epoch === first ? start : undefined,
      )
    let result: TrainResult = { samples: 0, seconds: 0, metrics: {}, interrupted: false }
    for (let epoch = first; epoch < config.runner.epochs && !result.interrupted; epoch++) {
      const trained = await pass('train', epoch)
      const { samples, seconds, metrics, interrupted } = trained
      result = { ...result, samples: result.samples + samples, seconds: result.seconds + seconds, metrics, interrupted }
      if (interrupted) {
        const path = await whole.saveInterrupted(trained)
        const { lastBatch: batch, meter } = trained
        emit({ kind: 'interrupted', epoch, batch, samples: meter.samples, ...(path !== undefined && { path }) })
        if (config.runner.global_shuffle) notice(toldInterrupted(epoch, path))
        continue
      }
      if (own) await saveByFirst(group, own, params, epoch, trained)
      else await whole.save(epoch, trained)
      if (rank === 0) await saveInference?.(epoch)
      if (!files.infer) continue
      const evaluated = await pass('infer', epoch)
      result = { ...result, evaluation: evaluated.metrics, interrupted: evaluated.interrupted }
    }
    result = { ...result, ...(digest && { digest: await whole.digest() }) }
    const { interrupted: _, ...summary } = result
    emit({ kind: 'done', ...summary, samplesPerSecond: result.seconds > 0 ? result.samples / result.seconds : 0 })
    await group.barrier()
    return result
  } finally {
    await runtime.close()
  }
}

function startOf(epoch: number): PassStart {
  return { position: { epoch, batch: 0, chunk: 0, sample: 0 } }
}

async function saveByFirst(group: Group, own: JobCheckpoints, params: LocalParams, epoch: number, trained: PassResult) {
  if (group.rank === 0 && own.saves(epoch)) await own.save({ params }, epoch, trained)
  await group.barrier()
}

function owned({ train: { state, tables } }: TracedModel) {
  return { state, tables }
}

/** Traces of a dynamic graph differ, so each of its tables is a group of its own. */
function groupsOf({ train, slots, dygraph }: TracedModel, parameters: Parameters<typeof shownTables>[1]): number[] {
  if (dygraph) return train.tables.map((_, t) => t)
  const sparse = slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  return tableGroups(train, sparse, shownTables(train.tables, parameters, slots))
}

/** Of divided tables no rank has all rows: the checkpoint that was just saved does. */
async function inferenceOf(
  { config: loaded, mode, emit }: TrainRanksOptions,
  model: TracedModel,
  params: LocalParams,
  files: DataFiles,
  { sharded }: TablePlan,
): Promise<SaveInference | undefined> {
  const { config } = loaded
  const exported = config.runner.use_inference && mode === 'dygraph' ? await loadModel(loaded) : model
  const save = inferenceSaver(config, exported, params, files, emit)
  if (!save || !sharded.includes(true)) return save
  const out = (epoch: number) => join(config.runner.model_save_path, String(epoch), INFERENCE_FOLDER)
  return async (epoch) => void (await exportCheckpoint({ config: loaded, out: out(epoch), epoch, emit }))
}
