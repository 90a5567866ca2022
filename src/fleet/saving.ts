/** @file Saving and loading of the servers' model: worker 0 does it, all take part, and all learn how it went. */
import { joinColumns } from '../data/index.ts'
import type { EventSink } from '../event/index.ts'
import { planExport, writeExport } from '../export/index.ts'
import { programHash } from '../program/index.ts'
import { loadSnapshot, openSnapshot, saveSnapshot } from '../snapshot/index.ts'
import { shown } from '../train/index.ts'
import { fromPlainError, type PlainError, toPlainError, UserError } from '../util/index.ts'
import type { ConnectedWorker } from './connected-worker.ts'
import type { TrainingProgram } from './training-program.ts'

/** What saving and loading need of a Fleet program. */
export interface SavingJob {
  readonly worker: ConnectedWorker
  readonly rank: number
  readonly program: TrainingProgram
  readonly emit: EventSink
}

export interface SavePersistablesOptions {
  /** A folder for a checkpoint; replaced as a whole. */
  readonly dirname: string
  /** 0: everything. Others are written by tables with an accessor. @default 0 */
  readonly mode?: number
}

export interface SaveInferenceModelOptions {
  /** A folder for an export, see docs/export-format.md. */
  readonly dirname: string
  /** Names of inputs. @default all that the targets need */
  readonly feededVarNames?: readonly string[]
  /** Outputs, by name or as variables. @default all that the program names */
  readonly targetVars?: readonly (string | { readonly name: string })[]
}

/** Writes everything that the servers hold as a checkpoint. */
export function savePersistables(job: SavingJob, { dirname, mode = 0 }: SavePersistablesOptions): Promise<void> {
  checkMode('savePersistables', mode)
  return together(job, `savePersistables(${dirname})`, async () => {
    const { worker, program, emit } = job
    const params = await worker.gather()
    const position = { epoch: 0, batch: 0, chunk: 0, sample: 0 }
    const state = { program: programHash(program.model.train), seed: program.seed, position, metrics: {} }
    const took = await saveSnapshot({ folder: dirname, params, state, emit })
    emit({ kind: 'saved', path: shown(dirname), epoch: 0, ...took })
  })
}

/** Writes a model to score with. */
export function saveInferenceModel(job: SavingJob, options: SaveInferenceModelOptions): Promise<void> {
  const { dirname, feededVarNames: feeds = [], targetVars = [] } = options
  return together(job, `saveInferenceModel(${dirname})`, async () => {
    const { worker, program, emit } = job
    const { model, seed } = program
    const fetches = targetVars.map((target) => (typeof target === 'string' ? target : target.name))
    const plan = planExport(model, { feeds, fetches })
    const params = await worker.gather()
    const samples = joinColumns(model.slots, [])
    await writeExport({ folder: dirname, plan, params, epoch: 0, seed, samples })
    emit({ kind: 'saved', path: shown(dirname), epoch: 0 })
  })
}

/** Gives the servers what a checkpoint holds: tables and dense weights. */
export function loadModel(job: SavingJob, dirname: string, mode = 0): Promise<void> {
  checkMode('loadModel', mode)
  return together(job, `loadModel(${dirname})`, async () => {
    const { worker, emit } = job
    const params = worker.blank()
    const snapshot = await openSnapshot(dirname, 'fleet.loadModel')
    await loadSnapshot({ snapshot, params, emit, otherOptimizer: 'weights' })
    await worker.scatter(params)
    emit({ kind: 'loaded', path: shown(dirname), epoch: snapshot.manifest.position.epoch - 1 })
  })
}

/** All workers come, worker 0 works, all leave together: with its error, if it had one. */
async function together({ worker, rank }: SavingJob, call: string, work: () => Promise<void>): Promise<void> {
  await worker.meet(call, null)
  const failure = rank === 0 ? await work().then(undefined, (error: unknown) => ({ error })) : undefined
  const [first] = await worker.meet<PlainError | null>(`end of ${call}`, failure ? toPlainError(failure.error) : null)
  if (failure) throw failure.error
  if (first) throw fromPlainError(first)
}

function checkMode(call: string, mode: number): void {
  if (mode === 0) return
  throw new UserError(`fleet.${call}: mode ${mode} is for tables with an accessor, and this program has none`, {
    code: 'FLEET_SAVE_MODE',
    hint: 'mode 0 is everything',
  })
}
