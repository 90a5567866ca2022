/** @file What a job starts from and what it keeps: by the keys of its config, or by rules of its caller. */

import type { FolderLock } from '../../base/fs/index.ts'
import { programHash } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { EpochsFile, WorkerPlace } from '../../weights/snapshot/index.ts'
import type { DataFiles, PassResult } from '../threads/index.ts'
import {
  type CheckpointOptions,
  findStart,
  noteEpochs,
  prepareSaving,
  saveCut,
  saveEpoch,
  saveInterrupted,
  saveWorkers,
  type WholeModel,
} from './checkpoint.ts'
import { exportedModel, inferenceSaver, type SaveInference } from './inference-model.ts'
import type { TrainingContext, TrainingStart } from './job.ts'

/** The first process of a job loads and saves. */
export interface JobCheckpoints {
  /** Fails before anything is trained where nothing could be saved. */
  prepare(): Promise<void>
  /** Fills the weights; returns where training begins. Undefined: the job starts from nothing. */
  readonly load: ((model: WholeModel) => Promise<TrainingStart>) | undefined
  /** Asked on every process, which must all answer alike. */
  saves(epoch: number): boolean
  /** Returns where it is, if that may be shown. */
  save(model: WholeModel, epoch: number, trained: PassResult): Promise<string | undefined>
  /** Saves what a job that was stopped inside an epoch has learned; returns where. @default nothing is saved */
  saveInterrupted?(
    model: WholeModel,
    trained: PassResult,
    workers?: readonly WorkerPlace[],
  ): Promise<string | undefined>
  /** Saves a job that has paused inside an epoch. @default it cannot be saved there */
  saveCut?: ((model: WholeModel, trained: PassResult, workers?: readonly WorkerPlace[]) => Promise<void>) | undefined
  /** Keeps what all epochs have measured. @default it is not kept */
  note?(epochs: EpochsFile): Promise<void>
  /** Nothing more is saved. */
  close?(): void
  /** Rows pass through the first process block by block, from `rows` and to `storeRows`; `params` has none. @default false */
  readonly streams?: boolean
}

/** By model_init_path, last_epoch, model_save_path and use_inference; `saveInside` saves what was learned inside an epoch. */
export function configCheckpoints(
  context: TrainingContext,
  model: TracedModel,
  files: DataFiles,
  saveInside: typeof saveInterrupted,
  /** Its name, and how many workers there are, where several processes are the job. */
  job?: { readonly id: string | undefined; readonly workers: number } | undefined,
): JobCheckpoints {
  const { config, resume, emit } = context
  const { runner } = config.config
  const { model_init_path, warmup_model_path, model_save_path, last_epoch, use_inference } = runner
  const starts = model_init_path !== undefined || warmup_model_path !== undefined || last_epoch >= 0 || resume
  const program = programHash(model.train)
  const shared = { config: config.config, program, files: files.train!, resume, emit, workers: job?.workers }
  let lock: FolderLock | undefined
  const of = (whole: WholeModel): CheckpointOptions => ({ ...whole, ...shared, lock })
  let saveInference: SaveInference | undefined
  let cut: string | undefined
  return {
    // An export is scored before it is written, which takes the whole model.
    streams: !use_inference,
    prepare: async () => {
      lock = await prepareSaving(shared, job?.id)
      saveInference = inferenceSaver(config.config, await exportedModel(context, model), files, emit)
    },
    load: starts ? (whole) => findStart(of(whole)) : undefined,
    saves: () => model_save_path !== '',
    save: async (whole, epoch, trained) => {
      const path = await saveEpoch(of(whole), epoch, trained)
      await saveInference?.(whole.params, epoch)
      return path
    },
    saveInterrupted: (whole, trained, workers) =>
      workers ? saveWorkers(of(whole), trained, workers) : saveInside(of(whole), trained),
    saveCut: async (whole, trained, workers) => {
      const save = (name: string) =>
        workers ? saveWorkers(of(whole), trained, workers, name) : saveInterrupted(of(whole), trained, name)
      cut = await saveCut(shared, trained, cut, save)
    },
    note: (epochs) => noteEpochs(config.config, epochs),
    close: () => lock?.release(),
  }
}
