/** @file What passes of days leave behind: checkpoints to go on from, base and delta models to serve, and the donefiles that name them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { type FolderLock, holdFolder, makeFolder, removeLeftovers } from '../../base/fs/index.ts'
import { dayAfter, isDay, isUserError, shown } from '../../base/util/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { isPaddleFolder } from '../../weights/params/index.ts'
import { cannotWrite, openSnapshot, saveSnapshot } from '../../weights/snapshot/index.ts'
import { SAVE_MODES } from '../../weights/table/index.ts'
import {
  type JobCheckpoints,
  loadPaddleTables,
  localTableWork,
  resumeFrom,
  type TrainingStart,
  type WholeModel,
} from '../driver/index.ts'
import { beginningOf, type PassResult } from '../threads/index.ts'
import type { Days } from './days.ts'
import { addModel, BASE_DONEFILE, BATCH_PASS, type DoneModel, lastModel, lastPublished } from './donefiles.ts'
import { isFull } from './full-disk.ts'
import type { Publisher } from './publisher.ts'

export interface OnlineCheckpointsOptions {
  readonly config: JobConfig
  readonly days: Days
  readonly emit: EventSink
  /** Known once the model is traced. */
  readonly model: () => TracedModel
  /** Hash of its training program. */
  readonly program: () => string
  readonly publisher: Publisher
  /** Of a job of several processes. */
  readonly job: string | undefined
  /** What the pass measured while it trained, as text. */
  readonly metricsOf: (trained: PassResult) => string
}

/** The pass after the last checkpoint. */
export function firstPass(days: Days, last: DoneModel | undefined): number {
  if (!last) return 0
  return Math.max(0, last.pass === BATCH_PASS ? days.epochOf(last.day, 1) : days.epochOf(last.day, last.pass) + 1)
}

/** What is known while a job trains. */
interface Kept {
  lock: FolderLock | undefined
  /** Of the base that deltas follow: unix seconds at which it was begun. */
  key: string
  /** The pass that this process began with. */
  first: number
}

export function onlineCheckpoints(options: OnlineCheckpointsOptions): JobCheckpoints {
  const { config, days, emit, publisher } = options
  const { model_save_path: root, checkpoint_per_pass, save_delta_frequency, save_first_base } = config.runner
  const say = (message: string) => emit({ kind: 'notice', message })
  const kept: Kept = { lock: undefined, key: '', first: 0 }

  return {
    streams: true,
    prepare: async () => {
      if (root === '' || kept.lock) return
      kept.lock = await holdRoot(root, options)
      // Of a job that was killed.
      await removeLeftovers(root)
      for (const day of (await readdir(root)).filter(isDay)) await removeLeftovers(join(root, day))
    },
    load: async (whole) => {
      kept.first = await loadLast(whole, options, kept)
      return { ...beginningOf(kept.first) } satisfies TrainingStart
    },
    started: async (whole) => {
      if (!save_first_base || root === '' || kept.first >= days.epochs) return
      const { day } = days.at(kept.first)
      const last = await lastPublished(root, BASE_DONEFILE)
      const isThere = last !== undefined && last.day >= day
      say(isThere ? 'first base model exists' : 'going to save first base model')
      if (!isThere) await publishBase(whole, day, options, kept)
    },
    saves: (epoch) => {
      const { pass, isLast } = days.at(epoch)
      return root !== '' && (isLast || pass % checkpoint_per_pass === 0 || pass % save_delta_frequency === 0)
    },
    save: async (whole, epoch, trained) => {
      const { day, pass, isLast } = days.at(epoch)
      // A delta settles rows, so the checkpoint comes after it: a job that goes on from there has them settled too.
      if (pass % save_delta_frequency === 0)
        await publisher.delta(whole, { day, pass, key: kept.key, monitor: options.metricsOf(trained) })
      if (isLast) await endDay(whole, { day, pass: BATCH_PASS, epoch, trained }, options, kept)
      else if (pass % checkpoint_per_pass === 0)
        await saveModel(whole, { day, pass, epoch, trained }, options, kept).catch((error: unknown) => {
          if (!isFull(error)) throw error
          const message = `NOT SAVED: the checkpoint of day ${day}, pass ${pass}; training goes on, and a job that is started again begins behind the one before. ${(error as Error).message}`
          emit({ kind: 'warning', message })
        })
      return undefined
    },
    follow: async (whole, epoch) => {
      const { pass, isLast } = days.at(epoch)
      const work = localTableWork(config, whole.params)
      if (pass % save_delta_frequency === 0) await work.settle(SAVE_MODES.delta)
      if (!isLast) return
      await work.shrink()
      await work.settle(SAVE_MODES.base)
      await work.settle(SAVE_MODES.batch)
    },
    close: () => kept.lock?.release(),
  }
}

/** Loads what the last line of donefile.txt names; returns the pass to go on with. */
async function loadLast(whole: WholeModel, options: OnlineCheckpointsOptions, kept: Kept): Promise<number> {
  const { config, days, emit, publisher } = options
  const { model_save_path: root } = config.runner
  const last = root === '' ? undefined : await lastModel(root)
  const { day = -1, pass = -1, path = '', key: base = '' } = last ?? {}
  const message = `get_last_save_model last_day = ${day}, last_pass = ${pass}, last_path = ${path}, model_base_key = ${base}`
  emit({ kind: 'notice', message })
  const first = firstPass(days, last)
  kept.key = last || root === '' ? base : await keyOfBase(root, days, first)
  if (last) await loadModel(whole, last, folderOf(root, last.day, last.pass), options)
  await publisher.open(whole, first)
  // Perhaps killed before all of the past was removed.
  if (last?.pass === BATCH_PASS) await publisher.prune(last.day)
  return first
}

/** What is saved, and of when. */
interface Saving {
  readonly day: string
  readonly pass: number
  readonly epoch: number
  readonly trained: PassResult
}

/** A checkpoint, then its line. */
async function saveModel(
  whole: WholeModel,
  { day, pass, epoch, trained }: Saving,
  { config, emit, program }: OnlineCheckpointsOptions,
  { lock, key }: Kept,
): Promise<void> {
  const say = (message: string) => emit({ kind: 'notice', message })
  const { model_save_path: root, seed } = config.runner
  const started = performance.now()
  const folder = folderOf(root, day, pass)
  const isBatch = pass === BATCH_PASS
  say(isBatch ? `going to save_batch_model ${shown(folder)}/` : `going to save_model ${shown(folder)}/`)
  const { position } = beginningOf(epoch + 1)
  const state = { program: program(), seed, metrics: trained.metrics, position }
  await makeFolder(join(root, day))
  const took = await saveSnapshot({ ...whole, folder, state, emit, lock })
  const saved = performance.now()
  const isNew = await addModel(root, { day, pass, key, path: `${shown(folder)}/` })
  const file = `${day}/${pass} donefile.txt`
  say(isNew ? `write ${file} succeed` : `not write donefile.txt because ${day}/${pass} already exists`)
  emit({ kind: 'saved', path: shown(folder), epoch, ...took })
  const spent = costs({ save_model: saved - started, donefile: performance.now() - saved })
  const what = isBatch ? `batch model day ${day}` : `checkpoint model epoch ${pass}`
  say(`finished save ${what} ${spent}`)
}

/** Rows worth too little go; the base and the batch model of the next day are written. */
async function endDay(whole: WholeModel, saving: Saving, options: OnlineCheckpointsOptions, kept: Kept): Promise<void> {
  const { config, emit, publisher } = options
  const say = (message: string) => emit({ kind: 'notice', message })
  const started = performance.now()
  say('shrink table')
  const work = whole.work ?? localTableWork(config, whole.params)
  const dropped = await work.shrink()
  say(`shrink table done, cost ${(performance.now() - started) / 60_000} min`)
  if (dropped > 0) say(`${dropped.toLocaleString('en-US')} rows were dropped at the end of day ${saving.day}`)
  const next = dayAfter(saving.day, 1)
  await publishBase(whole, next, options, kept)
  await work.settle(SAVE_MODES.batch)
  await saveModel(whole, { ...saving, day: next }, options, kept)
  await publisher.prune(next)
}

async function publishBase(
  whole: WholeModel,
  day: string,
  { config, emit, publisher }: OnlineCheckpointsOptions,
  kept: Kept,
): Promise<void> {
  const say = (message: string) => emit({ kind: 'notice', message })
  const before = kept.key
  const last = await lastPublished(config.runner.model_save_path, BASE_DONEFILE)
  say(`get_last_save_base_model, last_base_day = ${last?.day ?? -1}`)
  if (last && last.day >= day) {
    say('batch model/base inference model exists')
    if (last.day === day) kept.key = last.key
  } else kept.key = String(Math.floor(Date.now() / 1000))
  // Deltas follow the base before where there is none of this day.
  if (!(await publisher.base(whole, { day, key: kept.key }))) kept.key = before
}

const folderOf = (root: string, day: string, pass: number) => join(root, day, String(pass === BATCH_PASS ? 0 : pass))

/** Of the base that the first pass begins with, where an earlier run has published it and nothing more. */
async function keyOfBase(root: string, days: Days, first: number): Promise<string> {
  const base = await lastPublished(root, BASE_DONEFILE)
  return base && days.epochOf(base.day, 1) <= first ? base.key : ''
}

/** A checkpoint of ours, or the files of Paddle's servers, which hold weights and rows. */
async function loadModel(
  whole: WholeModel,
  last: DoneModel,
  folder: string,
  { config, program, emit }: OnlineCheckpointsOptions,
): Promise<void> {
  const started = performance.now()
  emit({ kind: 'notice', message: `going to load model ${last.path}` })
  if (await isPaddleFolder(folder)) await loadPaddleTables(whole, folder)
  else {
    const snapshot = await openSnapshot(folder, 'runner.model_save_path')
    await resumeFrom(snapshot, { ...whole, config, program: program(), files: [], resume: true, emit })
  }
  emit({ kind: 'notice', message: `load model cost ${(performance.now() - started) / 60_000} min` })
}

async function holdRoot(root: string, { emit, job }: OnlineCheckpointsOptions): Promise<FolderLock> {
  try {
    await makeFolder(root)
    return await holdFolder(root, {
      job,
      kind: 'model',
      key: 'runner.model_save_path',
      hint: 'Wait for its end, stop it, or save elsewhere with -o runner.model_save_path=FOLDER.',
      onWait: (message) => emit({ kind: 'notice', message }),
    })
  } catch (error) {
    throw isUserError(error) ? error : cannotWrite(error as NodeJS.ErrnoException, root)
  }
}

/** `[save_model: 0.01 min][donefile: 0 min]` */
const costs = (parts: Readonly<Record<string, number>>) =>
  Object.entries(parts)
    .map(([name, ms]) => `[${name}: ${ms / 60_000} min]`)
    .join('')
