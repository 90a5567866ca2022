/** @file Saving and loading of the servers' model: worker 0 does it, all take part, and all learn how it went. */
import { resolve } from 'node:path'
import type { EventSink } from '../../base/event/index.ts'
import { type OwnFolderOptions, ownFolder } from '../../base/fs/index.ts'
import { shown, UserError } from '../../base/util/index.ts'
import { joinColumns } from '../../data/index.ts'
import { programHash } from '../../graph/program/index.ts'
import { planExport, writeExport } from '../../inference/export/index.ts'
import { byFirst, readNothing, readOutcome } from '../../training/driver/index.ts'
import { isPaddleFolder } from '../../weights/params/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../../weights/snapshot/index.ts'
import { type SaveMode, tableEntry } from '../../weights/table/index.ts'
import type { ConnectedWorker } from './connected-worker.ts'
import type { InferenceToWrite, SettledStrategy, TrainingProgram } from './training-program.ts'

/** What saving and loading need of a Fleet program. */
export interface SavingJob {
  readonly worker: ConnectedWorker
  readonly rank: number
  readonly program: TrainingProgram
  readonly strategy: SettledStrategy
  readonly emit: EventSink
}

/** Options of fleet.savePersistables. */
export interface SavePersistablesOptions {
  /** A folder for a checkpoint, which is replaced as a whole; or for Paddle's files, which every server must reach. */
  readonly dirname: string
  /** 0 everything, 1 what changed since it was last saved, 2 what is worth most, 3 everything at the end of a day. @default 0 */
  readonly mode?: number
  /** @default paddle where a table has an accessor, else checkpoint */
  readonly format?: SaveFormat
}

/** Options of fleet.saveInferenceModel. */
export interface SaveInferenceModelOptions {
  /** A folder for an export, see docs/reference/export-format.md. */
  readonly dirname: string
  /** Names of inputs. @default all that the targets need */
  readonly feededVarNames?: readonly string[]
  /** Outputs, by name or as variables. @default all that the program names */
  readonly targetVars?: readonly (string | { readonly name: string })[]
}

/** A checkpoint of this package, or text files as Paddle's parameter servers write them. */
export const SAVE_FORMATS = ['checkpoint', 'paddle'] as const
export type SaveFormat = (typeof SAVE_FORMATS)[number]

/** Writes what the servers hold. */
export function savePersistables(job: SavingJob, options: SavePersistablesOptions): Promise<void> {
  const { dirname, mode = 0, format = hasAccessors(job) ? 'paddle' : 'checkpoint' } = options
  checkMode('savePersistables', mode, format)
  return together(job, `savePersistables(${dirname})`, async () => {
    const { worker, program, emit } = job
    const lock = await ownFolder(dirname, writerOf('fleet.savePersistables', emit))
    if (format === 'paddle') {
      await worker.savePaddleFiles(resolve(dirname), mode as SaveMode)
      emit({ kind: 'saved', path: shown(dirname), epoch: 0 })
      return
    }
    const params = await worker.gather()
    const position = { epoch: 0, batch: 0, chunk: 0, sample: 0 }
    const state = { program: programHash(program.model.train), seed: program.seed, position, metrics: {} }
    const took = await saveSnapshot({ folder: dirname, params, state, emit, lock })
    emit({ kind: 'saved', path: shown(dirname), epoch: 0, ...took })
  })
}

/** Writes a model to score with. */
export function saveInferenceModel(job: SavingJob, options: SaveInferenceModelOptions): Promise<void> {
  const { dirname, feededVarNames: feeds = [], targetVars = [] } = options
  return together(job, `saveInferenceModel(${dirname})`, async () => {
    const { worker, program, emit } = job
    const lock = await ownFolder(dirname, writerOf('fleet.saveInferenceModel', emit))
    const write = program.writeInference ?? exportOf(program)
    await write({ dirname, feeds, targets: targetVars, params: await worker.gather(), lock })
    emit({ kind: 'saved', path: shown(dirname), epoch: 0 })
  })
}

/** Worker 0 writes for all of its job. */
const writerOf = (key: string, emit: EventSink): OwnFolderOptions => ({
  key,
  onWait: (message) => emit({ kind: 'notice', message }),
})

function exportOf({ model, seed }: TrainingProgram) {
  return async ({ dirname, feeds, targets, params, lock }: InferenceToWrite): Promise<void> => {
    const fetches = targets.map((target) => (typeof target === 'string' ? target : target.name))
    const plan = planExport(model, { feeds, fetches })
    await writeExport({ folder: dirname, plan, params, epoch: 0, seed, samples: joinColumns(model.slots, []), lock })
  }
}

/** Gives the servers what a checkpoint, or a folder of Paddle's files, holds: tables and dense weights. */
export function loadModel(job: SavingJob, dirname: string, mode = 0): Promise<void> {
  checkMode('loadModel', mode, 'paddle')
  return together(job, `loadModel(${dirname})`, async () => {
    const { worker, emit } = job
    if (await isPaddleFolder(dirname)) {
      await worker.loadPaddleFiles(resolve(dirname))
      emit({ kind: 'loaded', path: shown(dirname), epoch: -1 })
      return
    }
    const params = worker.blank()
    const snapshot = await openSnapshot(dirname, 'fleet.loadModel')
    await loadSnapshot({ snapshot, params, emit, otherOptimizer: 'weights' })
    await worker.scatter(params)
    emit({ kind: 'loaded', path: shown(dirname), epoch: snapshot.manifest.position.epoch - 1 })
  })
}

/** Lets a day pass for tables with an accessor. */
export function shrink(job: SavingJob): Promise<void> {
  return together(job, 'shrink', async () => {
    const rows = await job.worker.shrink()
    job.emit({ kind: 'notice', message: `shrink: ${rows} rows are gone` })
  })
}

/** All workers come, worker 0 works, all leave together: with its error, if it had one. */
export async function together(
  { worker, rank }: Pick<SavingJob, 'worker' | 'rank'>,
  call: string,
  work: () => Promise<void>,
): Promise<void> {
  await worker.allGatherJson(call, null)
  await byFirst(rank, (outcome) => worker.allGatherJson(`end of ${call}`, outcome, readOutcome(readNothing)), work)
}

/** Whether a table counts shows and clicks, which Paddle's files hold and modes go by. */
function hasAccessors({ program, strategy }: SavingJob): boolean {
  return program.model.train.tables.some(
    (table) =>
      strategy.tableParameters[table.name]?.accessor || tableEntry(table, strategy.tableParameters[table.name]),
  )
}

function checkMode(call: string, mode: number, format: SaveFormat): void {
  const modes = format === 'paddle' ? PADDLE_MODES : [0]
  if (modes.includes(mode)) return
  throw new UserError(`fleet.${call}: there is no mode ${mode} for format ${format}`, {
    code: 'FLEET_SAVE_MODE',
    hint: `modes are ${PADDLE_MODES.join(', ')} where tables have an accessor, else 0: everything`,
  })
}

const PADDLE_MODES: readonly number[] = [0, 1, 2, 3] satisfies readonly SaveMode[]
