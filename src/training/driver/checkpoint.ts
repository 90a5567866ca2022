/** @file Checkpoints of a run: where it starts from, what it saves after each epoch and when it is stopped. */
import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobConfig } from '../../base/config/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { type EventSink, noteForLauncher } from '../../base/event/index.ts'
import { type FolderLock, holdFolder, makeFolder } from '../../base/fs/index.ts'
import { isUserError, shown } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import {
  cannotWrite,
  type EpochsFile,
  INTERRUPTED,
  isCheckpointName,
  type LoadOptions,
  type Manifest,
  markInput,
  newestFence,
  pruneSnapshots,
  type RankPlace,
  type Rows,
  readEpochs,
  refuseToLose,
  removeBegunCuts,
  removeCuts,
  removeEpochs,
  type SaveOptions,
  type Snapshot,
  type SnapshotState,
  saveSnapshot,
  type WorkerPlace,
  writeEpochs,
  writeSnapshot,
} from '../../weights/snapshot/index.ts'
import { beginningOf, type PassResult } from '../threads/index.ts'
import { keepsHistory } from './history.ts'
import type { TableWork } from './table-work.ts'

/** The model of a job as the process that saves it sees it. */
export interface WholeModel {
  readonly params: LocalParams
  /** See SaveOptions; and where loaded rows go. @default `params` has all of them */
  readonly rows?: SaveOptions['rows']
  readonly rowCounts?: SaveOptions['rowCounts']
  readonly storeRows?: LoadOptions['storeRows']
  readonly loadRows?: LoadOptions['loadRows']
  readonly agree?: LoadOptions['agree']
  /** Rows that were loaded go again: what they came from is damaged. @default those of `params` */
  readonly dropRows?: (() => Promise<void>) | undefined
  /** Rows as they are now are kept: cuts hold what changes from here on. @default changes are not followed */
  readonly forgetChanges?: (() => Promise<void>) | undefined
  /** Where rows are, if not in `params`: those of a table, all of them or those that changed. */
  readonly readRows?: ((table: number, changed: boolean) => AsyncIterable<Rows>) | undefined
  /** Rows have gone since changes were forgotten last. Asked where `readRows` is. */
  readonly lostRows?: (() => Promise<boolean>) | undefined
  /** Where tables are, if not in `params`: what is done to them there. */
  readonly work?: TableWork | undefined
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
  /** Of model_save_path, at the process that saves. */
  readonly lock?: FolderLock | undefined
}

/** From what was saved before, of whatever epoch. */
export const goesOn = ({ config, resume }: Pick<CheckpointOptions, 'config' | 'resume'>) =>
  resume || config.runner.last_epoch >= 0

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
      after: await newestFence(model_save_path),
      hint: 'Wait for its end, stop it, or save elsewhere with -o runner.model_save_path=FOLDER.',
      onWait: (message) => emit({ kind: 'notice', message }),
    })
    await removeBegunCuts(model_save_path) // whoever began them had the lock before
    if (!own.resume) await removeCuts(model_save_path)
    if (!goesOn(own)) await removeEpochs(model_save_path)
    return lock
  } catch (error) {
    throw isUserError(error) ? error : cannotWrite(error as NodeJS.ErrnoException, model_save_path)
  }
}

/** Saves `<epoch>/` after an epoch; undefined where nothing is saved. */
export async function saveEpoch(
  options: CheckpointOptions,
  epoch: number,
  trained: PassResult,
): Promise<Snapshot | undefined> {
  const { config, emit } = options
  const { model_save_path, keep_checkpoints, keep_best } = config.runner
  if (model_save_path === '') return undefined
  const folder = join(model_save_path, String(epoch))
  const { position } = beginningOf(epoch + 1)
  const state = { ...stateOf(options, trained), position }
  const { snapshot, bytes, seconds } = await writeSnapshot({ ...options, folder, state })
  const best = keep_best === undefined ? undefined : (await readEpochs(model_save_path))?.best?.epoch
  await pruneSnapshots(model_save_path, epoch, keep_checkpoints, best)
  emit({ kind: 'saved', path: shown(folder), epoch, bytes, seconds })
  noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'saved')
  return snapshot
}

/** Keeps what all epochs have measured, where the config asks for it. */
export async function noteEpochs(config: JobConfig, epochs: EpochsFile): Promise<void> {
  const { model_save_path } = config.runner
  if (model_save_path !== '' && keepsHistory(config)) await writeEpochs(model_save_path, epochs)
}

/** Saves `interrupted/`, which holds the run as it is inside an epoch; returns its path, undefined where nothing is saved. */
export function saveInterrupted(options: CheckpointOptions, trained: PassResult): Promise<string | undefined> {
  return saveInside(options, trained, placeOf(options, trained))
}

/** Where one process is. */
export const placeOf = ({ files }: Pick<CheckpointOptions, 'files'>, { position, meter }: PassResult) => ({
  position,
  meter,
  input: markInput(files),
})

/** Where several are, each in its own data: `ranks` or `workers`. */
export const placesOf = <P extends Pick<SnapshotState, 'ranks' | 'workers'>>(
  { position, meter }: PassResult,
  places: P,
) => ({ ...beginningOf(position.epoch), meter, ...places })

/** The same for ranks, each of which has its place; this is rank 0. */
export function saveRanks(
  options: CheckpointOptions,
  trained: PassResult,
  ranks: readonly RankPlace[],
): Promise<string | undefined> {
  return saveInside(options, trained, placesOf(trained, { ranks: [...ranks] }))
}

/** The same for workers; this is worker 0. */
export function saveWorkers(
  options: CheckpointOptions,
  trained: PassResult,
  workers: readonly WorkerPlace[],
): Promise<string | undefined> {
  return saveInside(options, trained, placesOf(trained, { workers: [...workers] }))
}

/** The same where places of several processes are not kept: weights alone. */
export function saveWeights(options: CheckpointOptions, trained: PassResult): Promise<string | undefined> {
  return saveInside(options, trained, beginningOf(trained.position.epoch))
}

async function saveInside(
  options: CheckpointOptions,
  trained: PassResult,
  place: Pick<SnapshotState, 'position' | 'meter' | 'input' | 'ranks' | 'workers'>,
): Promise<string | undefined> {
  const { model_save_path } = options.config.runner
  if (model_save_path === '') return undefined
  const folder = join(model_save_path, INTERRUPTED)
  await saveSnapshot({ ...options, folder, state: { ...stateOf(options, trained), ...place } })
  noteForLauncher(processEnv()['OARFISH_LOG_FILE'], 'saved')
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

/** What the checkpoint was trained with: rows carry the state of these. */
export function optimizersOf({ dense, tables }: Manifest): Pick<TracedModel, 'optimizer' | 'tableOptimizers'> {
  return {
    optimizer: dense.optimizer,
    tableOptimizers: Object.fromEntries(tables.map(({ name, optimizer }) => [name, optimizer])),
  }
}
