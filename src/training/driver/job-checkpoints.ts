/** @file What a job starts from and what it keeps: by the keys of its config, or by rules of its caller. */

import type { FolderLock } from '../../base/fs/index.ts'
import { shown } from '../../base/util/index.ts'
import { programHash } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { EpochsFile, WorkerPlace } from '../../weights/snapshot/index.ts'
import type { DataFiles, PassResult } from '../threads/index.ts'
import {
  type CheckpointOptions,
  noteEpochs,
  placeOf,
  placesOf,
  prepareSaving,
  saveEpoch,
  type saveInterrupted,
  saveWorkers,
  type WholeModel,
} from './checkpoint.ts'
import { type Cut, CutWriter } from './cut-writer.ts'
import { findStart } from './find-start.ts'
import { exportedModel, inferenceSaver, type SaveInference } from './inference-model.ts'
import type { TrainingContext, TrainingStart } from './job.ts'

/** The first process of a job loads and saves. */
export interface JobCheckpoints {
  /** Fails before anything is trained where nothing could be saved. */
  prepare(): Promise<void>
  /** Fills the weights; returns where training begins. Undefined: the job starts from nothing. */
  readonly load: ((model: WholeModel) => Promise<TrainingStart>) | undefined
  /** The weights that training begins with are in their places. @default nothing is done */
  started?(model: WholeModel): Promise<void>
  /** Asked on every process, which must all answer alike. */
  saves(epoch: number): boolean
  /** Returns where it is, if that may be shown. */
  save(model: WholeModel, epoch: number, trained: PassResult): Promise<string | undefined>
  /** On other ranks, which have the same tables: does to them what `save` does to those it saves. @default nothing */
  follow?(model: WholeModel, epoch: number): Promise<void>
  /** Saves what a job that was stopped inside an epoch has learned; returns where. @default nothing is saved */
  saveInterrupted?(
    model: WholeModel,
    trained: PassResult,
    workers?: readonly WorkerPlace[],
  ): Promise<string | undefined>
  /** Begins to save a job that has paused inside an epoch. @default it cannot be saved there */
  beginCut?: ((model: CutModel, trained: PassResult, workers?: readonly WorkerPlace[]) => Promise<void>) | undefined
  /** Keeps what all epochs have measured. @default it is not kept */
  note?(epochs: EpochsFile): Promise<void>
  /** Nothing more is saved; what is being written is, first. */
  close?(): Promise<void> | void
  /** Rows pass through the first process block by block, from `rows` and to `storeRows`; `params` has none. @default false */
  readonly streams?: boolean
}

/** A job that has paused: dense weights are in `params`, rows are taken. */
export type CutModel = WholeModel & Pick<Cut, 'begin' | 'hasLostRows'>

/** By model_init_path, last_epoch, model_save_path and use_inference; `saveInside` saves what was learned inside an epoch. */
export function configCheckpoints(
  context: TrainingContext,
  model: TracedModel,
  files: DataFiles,
  saveInside: typeof saveInterrupted,
  /** Its name, where several processes are the job. */
  job?: { readonly id: string | undefined } | undefined,
): JobCheckpoints {
  const { config, resume, emit } = context
  const { runner } = config.config
  const { model_init_path, warmup_model_path, model_save_path, last_epoch, use_inference } = runner
  const starts = model_init_path !== undefined || warmup_model_path !== undefined || last_epoch >= 0 || resume
  const program = programHash(model.train)
  const shared = { config: config.config, program, files: files.train!, resume, emit }
  let lock: FolderLock | undefined
  const of = (whole: WholeModel): CheckpointOptions => ({ ...whole, ...shared, lock })
  let saveInference: SaveInference | undefined
  const cuts = new CutWriter()
  return {
    // An export is scored before it is written, which takes the whole model.
    streams: !use_inference,
    prepare: async () => {
      lock = await prepareSaving(shared, job?.id)
      saveInference = inferenceSaver(config.config, await exportedModel(context, model), files, emit)
    },
    load: starts
      ? async (whole) => {
          const start = await findStart(of(whole))
          cuts.startFrom(start.from, model_save_path)
          return start
        }
      : undefined,
    saves: () => model_save_path !== '',
    save: async (whole, epoch, trained) => {
      await cuts.settle()
      const snapshot = await saveEpoch(of(whole), epoch, trained)
      await whole.forgetChanges?.()
      cuts.startFrom(whole.forgetChanges && snapshot, model_save_path)
      await saveInference?.(whole.params, epoch)
      return snapshot && shown(snapshot.folder)
    },
    saveInterrupted: async (whole, trained, workers) => {
      await cuts.settle()
      return workers ? saveWorkers(of(whole), trained, workers) : saveInside(of(whole), trained)
    },
    beginCut: ({ begin, hasLostRows, ...whole }, trained, workers) => {
      const options = of(whole)
      const place = workers ? placesOf(trained, { workers: [...workers] }) : placeOf(options, trained)
      return cuts.begin({ options, trained, place, begin, hasLostRows })
    },
    note: (epochs) => noteEpochs(config.config, epochs),
    close: async () => {
      await cuts.settle().catch(() => undefined)
      lock?.release()
    },
  }
}
