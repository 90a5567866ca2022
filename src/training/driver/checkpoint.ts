/** @file Checkpoints of a run: where it starts from, what it saves after each epoch and when it is stopped. */
import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { JobConfig } from '../../base/config/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { type EventSink, noteCut } from '../../base/event/index.ts'
import { type FolderLock, holdFolder, makeFolder } from '../../base/fs/index.ts'
import { formatUserError, isUserError, shown, UserError } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import {
  cannotWrite,
  cutName,
  type EpochsFile,
  INTERRUPTED,
  inputChanged,
  isCheckpointName,
  type LoadOptions,
  loadMeter,
  loadSnapshot,
  type Manifest,
  markInput,
  newestSnapshot,
  openSnapshot,
  pruneSnapshots,
  type RankPlace,
  type RowSource,
  readEpochs,
  refuseToLose,
  removeCuts,
  removeEpochs,
  runDifferences,
  type SaveOptions,
  type Snapshot,
  type SnapshotState,
  saveSnapshot,
  type WorkerPlace,
  writeEpochs,
} from '../../weights/snapshot/index.ts'
import { beginningOf, type PassResult, type PassStart } from '../threads/index.ts'
import { keepsHistory } from './history.ts'
import type { TrainingStart } from './job.ts'

/** The model of a job as the process that saves it sees it. */
export interface WholeModel {
  readonly params: LocalParams
  /** Where rows are, if not in `params`: how they are saved and where loaded ones go. */
  readonly rows?: RowSource | undefined
  readonly storeRows?: LoadOptions['storeRows']
}

export interface CheckpointOptions extends WholeModel {
  readonly config: JobConfig
  /** Hash of the training program. */
  readonly program: string
  /** Training data. */
  readonly files: readonly string[]
  /** Go on from the newest checkpoint in model_save_path. */
  readonly resume: boolean
  readonly emit: EventSink
  /** Which of how many ranks this is, where they train together. */
  readonly ranks?: { readonly rank: number; readonly size: number } | undefined
  /** How many workers there are, where servers keep the weights. */
  readonly workers?: number | undefined
  /** Of model_save_path, at the process that saves. */
  readonly lock?: FolderLock | undefined
  /** See SaveOptions: where tables are divided among ranks. */
  readonly others?: SaveOptions['others']
}

/** Loads what the run is to start from, if anything; returns where it starts. */
export async function findStart(options: CheckpointOptions): Promise<TrainingStart> {
  const start = await loadStart(options)
  const { runner } = options.config
  const kept = runner.model_save_path !== '' && goesOn(options) ? await readEpochs(runner.model_save_path) : undefined
  return { ...start, history: kept?.epochs.filter(({ epoch }) => epoch < start.position.epoch) }
}

const goesOn = ({ config, resume }: Pick<CheckpointOptions, 'config' | 'resume'>) =>
  resume || config.runner.last_epoch >= 0

async function loadStart(options: CheckpointOptions): Promise<TrainingStart> {
  const { config, resume, emit } = options
  const { model_save_path, warmup_model_path, model_init_path = warmup_model_path, last_epoch } = config.runner
  if (last_epoch < 0 && resume) {
    if (model_save_path === '') throw nowhereToResume()
    const newest = await newestSnapshot(model_save_path, (error) => {
      const text = isUserError(error) ? formatUserError(error) : error.message
      emit({ kind: 'warning', message: `This checkpoint is passed over: ${text}` })
    })
    if (newest) return resumeFrom(newest, options)
    emit({
      kind: 'notice',
      message: `Nothing to resume in ${shown(model_save_path)}: training starts from the beginning.`,
    })
  }
  if (model_init_path !== undefined) {
    const key = config.runner.model_init_path === undefined ? 'warmup_model_path' : 'model_init_path'
    const snapshot = await openSnapshot(model_init_path, `runner.${key}`)
    await load(snapshot, options, 'weights')
  } else if (last_epoch >= 0) {
    if (model_save_path === '') throw nowhereToResume()
    await resumeFrom(await openSnapshot(join(model_save_path, String(last_epoch)), 'runner.last_epoch'), options)
  }
  return beginningOf(last_epoch + 1)
}

/** Makes sure, before training, that the results can be saved, and that nobody else saves there until the lock is released. */
export async function prepareSaving(
  own: Pick<CheckpointOptions, 'config' | 'resume' | 'emit'>,
  job?: string | undefined,
): Promise<FolderLock | undefined> {
  const { emit } = own
  const { model_save_path } = own.config.runner
  if (model_save_path === '') return undefined
  try {
    await makeFolder(model_save_path)
    await access(model_save_path, constants.W_OK)
    for (const name of await readdir(model_save_path))
      if (isCheckpointName(name)) await refuseToLose(join(model_save_path, name))
    const lock = await holdFolder(model_save_path, {
      job,
      kind: 'model',
      key: 'runner.model_save_path',
      hint: 'Wait for its end, stop it, or save elsewhere with -o runner.model_save_path=FOLDER.',
      onWait: (message) => emit({ kind: 'notice', message }),
    })
    if (!goesOn(own)) await Promise.all([removeEpochs(model_save_path), removeCuts(model_save_path)])
    return lock
  } catch (error) {
    throw isUserError(error) ? error : cannotWrite(error as NodeJS.ErrnoException, model_save_path)
  }
}

/** Saves `<epoch>/` after an epoch; returns its path, undefined where nothing is saved. */
export async function saveEpoch(
  options: CheckpointOptions,
  epoch: number,
  trained: PassResult,
): Promise<string | undefined> {
  const { config, emit } = options
  const { model_save_path, keep_checkpoints, keep_best } = config.runner
  if (model_save_path === '') return undefined
  const folder = join(model_save_path, String(epoch))
  const { position } = beginningOf(epoch + 1)
  const took = await saveSnapshot({ ...options, folder, state: { ...stateOf(options, trained), position } })
  const best = keep_best === undefined ? undefined : (await readEpochs(model_save_path))?.best?.epoch
  await pruneSnapshots(model_save_path, epoch, keep_checkpoints, best)
  emit({ kind: 'saved', path: shown(folder), epoch, ...took })
  return shown(folder)
}

/** Keeps what all epochs have measured, where the config asks for it. */
export async function noteEpochs(config: JobConfig, epochs: EpochsFile): Promise<void> {
  const { model_save_path } = config.runner
  if (model_save_path !== '' && keepsHistory(config)) await writeEpochs(model_save_path, epochs)
}

/** Saves `interrupted/`, which holds the run as it is inside an epoch; returns its path, undefined where nothing is saved. */
export function saveInterrupted(
  options: CheckpointOptions,
  trained: PassResult,
  name = INTERRUPTED,
): Promise<string | undefined> {
  const { position, meter } = trained
  return saveInside(options, trained, { position, meter, input: markInput(options.files) }, name)
}

/** The same for ranks, each of which has its place; this is rank 0. */
export function saveRanks(
  options: CheckpointOptions,
  trained: PassResult,
  ranks: readonly RankPlace[],
  name = INTERRUPTED,
): Promise<string | undefined> {
  const { meter } = trained
  return saveInside(options, trained, { ...beginningOf(trained.position.epoch), meter, ranks: [...ranks] }, name)
}

/** The same for workers; this is worker 0. */
export function saveWorkers(
  options: CheckpointOptions,
  trained: PassResult,
  workers: readonly WorkerPlace[],
  name = INTERRUPTED,
): Promise<string | undefined> {
  const { meter } = trained
  return saveInside(options, trained, { ...beginningOf(trained.position.epoch), meter, workers: [...workers] }, name)
}

/** The same where places of several processes are not kept: weights alone. */
export function saveWeights(options: CheckpointOptions, trained: PassResult): Promise<string | undefined> {
  return saveInside(options, trained, beginningOf(trained.position.epoch), INTERRUPTED)
}

/**
 * A cut: `save` writes it under a name of its own; the one before stays, in case this one is damaged later. Where there is no room for
 * it, training goes on.
 */
export async function saveCut(
  {
    config,
    emit,
    mustSucceed = false,
  }: Pick<CheckpointOptions, 'config' | 'emit'> & { readonly mustSucceed?: boolean },
  { position: { epoch, batch } }: PassResult,
  before: string | undefined,
  save: (name: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const name = cutName(epoch, batch)
  const started = performance.now()
  try {
    const path = await save(name)
    if (path === undefined) return undefined
    await removeCuts(config.runner.model_save_path, before === undefined ? [name] : [before, name])
    emit({ kind: 'saved', path, epoch, batch: batch - 1, seconds: (performance.now() - started) / 1000 })
    const { OARFISH_LOG_FILE: log } = processEnv()
    if (log) noteCut(log, path)
    return name
  } catch (error) {
    if (mustSucceed || !isUserError(error)) throw error
    emit({ kind: 'warning', message: `This cut is not saved, training goes on: ${formatUserError(error)}` })
    return before
  }
}

async function saveInside(
  options: CheckpointOptions,
  trained: PassResult,
  place: Pick<SnapshotState, 'position' | 'meter' | 'input' | 'ranks' | 'workers'>,
  name: string,
): Promise<string | undefined> {
  const { model_save_path } = options.config.runner
  if (model_save_path === '') return undefined
  const folder = join(model_save_path, name)
  await saveSnapshot({ ...options, folder, state: { ...stateOf(options, trained), ...place } })
  return shown(folder)
}

/** What a user should know about a checkpoint inside an epoch that holds weights alone. */
export function noticeInterrupted(epoch: number, path: string | undefined): string {
  return path === undefined
    ? `What was learned in epoch ${epoch} is not saved, since runner.model_save_path is empty.`
    : `${path} holds all weights as they are now; where each process was in epoch ${epoch} is not kept: with --resume that epoch begins anew.`
}

function stateOf({ config, program }: CheckpointOptions, { metrics }: PassResult) {
  return { program, seed: config.runner.seed, metrics }
}

async function resumeFrom(snapshot: Snapshot, options: CheckpointOptions): Promise<TrainingStart> {
  const { config, params, program, files, emit } = options
  const { manifest, folder } = snapshot
  const { position, input, ranks, workers } = manifest
  if (input && JSON.stringify(input) !== JSON.stringify(markInput(files))) throw inputChanged(folder)
  await load(snapshot, options, 'refuse')
  const differences = runDifferences(manifest, params, program, config.runner.seed)
  if (differences.length > 0) {
    const message = `This run goes on otherwise than the one that saved ${shown(folder)}:\n  ${differences.join('\n  ')}`
    emit({ kind: 'warning', message })
  }
  if (ranks) return rankStart(snapshot, ranks, options)
  if (workers) return workersStart(snapshot, workers, options)
  return { position, meter: await loadMeter(snapshot) }
}

/** Each of as many ranks goes on where it was; for another number of processes the epoch begins anew. What was measured goes on at rank 0. */
async function rankStart(
  snapshot: Snapshot,
  ranks: readonly RankPlace[],
  { ranks: own, files, emit }: CheckpointOptions,
): Promise<PassStart> {
  if (own?.size !== ranks.length) return epochAnew(snapshot, `${ranks.length} ranks`, emit)
  const { position, input } = ranks[own.rank]!
  if (JSON.stringify(input) !== JSON.stringify(markInput(files))) throw inputChanged(snapshot.folder)
  const meter = await loadMeter(snapshot)
  if (!meter) return { position }
  return { position, before: meter, meter: own.rank === 0 ? { ...meter, batches: position.batch } : undefined }
}

/** All of them go on where they were; worker 0, which loads, tells the others. What was measured goes on there. */
async function workersStart(
  snapshot: Snapshot,
  workers: readonly WorkerPlace[],
  { workers: own, emit }: CheckpointOptions,
): Promise<TrainingStart> {
  if (own !== workers.length) return epochAnew(snapshot, `${workers.length} workers`, emit)
  const [{ position }] = workers as [WorkerPlace]
  const before = await loadMeter(snapshot)
  return { position, before, meter: before && { ...before, batches: position.batch }, workers }
}

function epochAnew({ manifest: { position } }: Snapshot, who: string, emit: EventSink): PassStart {
  const message = `${who} were stopped inside epoch ${position.epoch}; with another number of processes it is trained from its beginning.`
  emit({ kind: 'warning', message })
  return { position }
}

async function load(
  snapshot: Snapshot,
  { params, storeRows, emit }: CheckpointOptions,
  otherOptimizer: 'refuse' | 'weights',
): Promise<void> {
  await loadSnapshot({ snapshot, params, emit, otherOptimizer, storeRows })
  emit({ kind: 'loaded', path: shown(snapshot.folder), epoch: snapshot.manifest.position.epoch - 1 })
}

function nowhereToResume(): UserError {
  return new UserError('runner.model_save_path is empty, so there is nothing to resume from', {
    code: 'SNAPSHOT_MISSING',
    hint: 'set runner.model_save_path to the folder that holds the checkpoints',
  })
}

/** What the checkpoint was trained with: rows carry the state of these. */
export function optimizersOf({ dense, tables }: Manifest): Pick<TracedModel, 'optimizer' | 'tableOptimizers'> {
  return {
    optimizer: dense.optimizer,
    tableOptimizers: Object.fromEntries(tables.map(({ name, optimizer }) => [name, optimizer])),
  }
}
