/** @file Checkpoints of a run: where it starts from, what it saves after each epoch and when it is stopped. */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { JobConfig } from '../config/index.ts'
import type { EventSink } from '../event/index.ts'
import { makeFolder } from '../fs/index.ts'
import type { LocalParams } from '../params/index.ts'
import {
  cannotWrite,
  INTERRUPTED,
  inputChanged,
  type LoadOptions,
  loadMeter,
  loadSnapshot,
  markInput,
  newestSnapshot,
  openSnapshot,
  pruneSnapshots,
  type RankPlace,
  type RowSource,
  runDifferences,
  type SaveOptions,
  type Snapshot,
  type SnapshotState,
  saveSnapshot,
} from '../snapshot/index.ts'
import { formatUserError, isUserError, UserError } from '../util/index.ts'
import type { PassResult, PassStart } from './loop.ts'

export interface CheckpointOptions {
  readonly config: JobConfig
  readonly params: LocalParams
  /** Where rows are, if not in `params`: how they are saved and where loaded ones go. */
  readonly rows?: RowSource
  readonly storeRows?: LoadOptions['storeRows']
  /** Hash of the training program. */
  readonly program: string
  /** Training data. */
  readonly files: readonly string[]
  /** Go on from the newest checkpoint in model_save_path. */
  readonly resume: boolean
  readonly emit: EventSink
  /** Which of how many ranks this is, where they train together. */
  readonly seat?: { readonly rank: number; readonly size: number }
  /** See SaveOptions: where tables are divided among ranks. */
  readonly others?: SaveOptions['others']
}

/** Loads what the run is to start from, if anything; returns where it starts. */
export async function findStart(options: CheckpointOptions): Promise<PassStart> {
  const { config, resume, emit } = options
  const { model_save_path, warmup_model_path, model_init_path = warmup_model_path, last_epoch } = config.runner
  const next = { position: { epoch: last_epoch + 1, batch: 0, chunk: 0, sample: 0 } }
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
  return next
}

/** Makes sure, before training, that the results can be saved. */
export async function prepareSaving({ runner }: JobConfig): Promise<void> {
  const { model_save_path } = runner
  if (model_save_path === '') return
  try {
    await makeFolder(model_save_path)
    await access(model_save_path, constants.W_OK)
  } catch (error) {
    throw cannotWrite(error as NodeJS.ErrnoException, model_save_path)
  }
}

/** Saves `<epoch>/` after an epoch; returns its path, undefined where nothing is saved. */
export async function saveEpoch(
  options: CheckpointOptions,
  epoch: number,
  trained: PassResult,
): Promise<string | undefined> {
  const { config, emit } = options
  const { model_save_path, keep_checkpoints } = config.runner
  if (model_save_path === '') return undefined
  const folder = join(model_save_path, String(epoch))
  const position = { epoch: epoch + 1, batch: 0, chunk: 0, sample: 0 }
  const took = await saveSnapshot({ ...options, folder, state: { ...stateOf(options, trained), position } })
  await pruneSnapshots(model_save_path, epoch, keep_checkpoints)
  emit({ kind: 'saved', path: shown(folder), epoch, ...took })
  return shown(folder)
}

/** Saves `interrupted/`, which holds the run as it is inside an epoch; returns its path, undefined where nothing is saved. */
export function saveInterrupted(options: CheckpointOptions, trained: PassResult): Promise<string | undefined> {
  const { position, meter } = trained
  return saveInside(options, trained, { position, meter, input: markInput(options.files) })
}

/** The same for ranks, each of which has its place; this is rank 0. */
export function saveRanks(
  options: CheckpointOptions,
  trained: PassResult,
  ranks: readonly RankPlace[],
): Promise<string | undefined> {
  const { meter } = trained
  return saveInside(options, trained, { position: beginningOf(trained), meter, ranks: [...ranks] })
}

/** The same where places of several processes are not kept: weights alone. */
export function saveWeights(options: CheckpointOptions, trained: PassResult): Promise<string | undefined> {
  return saveInside(options, trained, { position: beginningOf(trained) })
}

async function saveInside(
  options: CheckpointOptions,
  trained: PassResult,
  place: Pick<SnapshotState, 'position' | 'meter' | 'input' | 'ranks'>,
): Promise<string | undefined> {
  const { model_save_path } = options.config.runner
  if (model_save_path === '') return undefined
  const folder = join(model_save_path, INTERRUPTED)
  await saveSnapshot({ ...options, folder, state: { ...stateOf(options, trained), ...place } })
  return shown(folder)
}

function beginningOf({ position: { epoch } }: PassResult): PassStart['position'] {
  return { epoch, batch: 0, chunk: 0, sample: 0 }
}

/** What is to be said about it. */
export function toldInterrupted(epoch: number, path: string | undefined): string {
  return path === undefined
    ? `What was learned in epoch ${epoch} is not saved, since runner.model_save_path is empty.`
    : `${path} holds all weights as they are now; where each process was in epoch ${epoch} is not kept: with --resume that epoch begins anew.`
}

function stateOf({ config, program }: CheckpointOptions, { metrics }: PassResult) {
  return { program, seed: config.runner.seed, metrics }
}

async function resumeFrom(snapshot: Snapshot, options: CheckpointOptions): Promise<PassStart> {
  const { config, params, program, files, emit } = options
  const { manifest, folder } = snapshot
  const { position, input, ranks } = manifest
  if (input && JSON.stringify(input) !== JSON.stringify(markInput(files))) throw inputChanged(folder)
  await load(snapshot, options, 'refuse')
  const differences = runDifferences(manifest, params, program, config.runner.seed)
  if (differences.length > 0) {
    const message = `This run goes on otherwise than the one that saved ${shown(folder)}:\n  ${differences.join('\n  ')}`
    emit({ kind: 'warning', message })
  }
  if (ranks) return rankStart(snapshot, ranks, options)
  const meter = await loadMeter(snapshot)
  return { position, ...(meter && { meter }) }
}

/** Each of as many ranks goes on where it was; for another number of processes the epoch begins anew. What was measured goes on at rank 0. */
async function rankStart(
  snapshot: Snapshot,
  ranks: readonly RankPlace[],
  { seat, files, emit }: CheckpointOptions,
): Promise<PassStart> {
  const { epoch } = snapshot.manifest.position
  if (seat?.size !== ranks.length) {
    const message = `${ranks.length} ranks were stopped inside epoch ${epoch}; with another number of processes it is trained from its beginning.`
    emit({ kind: 'warning', message })
    return { position: snapshot.manifest.position }
  }
  const { position, input } = ranks[seat.rank]!
  if (JSON.stringify(input) !== JSON.stringify(markInput(files))) throw inputChanged(snapshot.folder)
  const meter = await loadMeter(snapshot)
  if (!meter) return { position }
  return { position, before: meter, ...(seat.rank === 0 && { meter: { ...meter, batches: position.batch } }) }
}

async function load(
  snapshot: Snapshot,
  { params, storeRows, emit }: CheckpointOptions,
  otherOptimizer: 'refuse' | 'weights',
): Promise<void> {
  await loadSnapshot({ snapshot, params, emit, otherOptimizer, ...(storeRows && { storeRows }) })
  emit({ kind: 'loaded', path: shown(snapshot.folder), epoch: snapshot.manifest.position.epoch - 1 })
}

function nowhereToResume(): UserError {
  return new UserError('runner.model_save_path is empty, so there is nothing to resume from', {
    code: 'SNAPSHOT_MISSING',
    hint: 'set runner.model_save_path to the folder that holds the checkpoints',
  })
}

/** As PaddleRec shows it: relative to the working folder where it lies below. */
export function shown(path: string): string {
  const short = relative(process.cwd(), path)
  return short === '' || short.startsWith('..') ? path : short
}
