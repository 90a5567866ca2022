/** @file The seam between fleet and what builds programs: fluid's minimize hands a program over, its Executor asks for the way to the servers. Types only. */
import type { Cluster } from '../../base/env/index.ts'
import type { FolderLock } from '../../base/fs/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { PsMode } from '../../training/ps/index.ts'
import type { PassChanges, PassResult, RuntimeOptions } from '../../training/threads/index.ts'
import type { LocalParams, Params } from '../../weights/params/index.ts'
import type { Placement, TablesParameters } from '../../weights/table/index.ts'

/** How the processes of a job work together. */
export interface SettledStrategy {
  readonly mode: PsMode
  /** Batches between two exchanges of a geo worker. */
  readonly geoStep: number
  /** Accessors and other settings of tables, by name. */
  readonly tableParameters: TablesParameters
  /** Why, where it was chosen by itself. */
  readonly reason?: string | undefined
}

/** What minimize hands to fleet once loss, gradients and optimizers are known. Every process of a job hands over the same. */
export interface TrainingProgram {
  /** Inputs, the program with gradients and the one without, metrics, optimizers. Tables and the dense layout follow from it. */
  readonly model: TracedModel
  /** The program's random seed: initial weights and new rows are drawn from it, on servers and workers alike. */
  readonly seed: number
  /** Memory segments of a table. @default 4 */
  readonly segments?: number
  /** Rows that tables were declared with, by name: what the choice of a mode by itself reckons with. */
  readonly tableRows?: Readonly<Record<string, number>>
  /** Writes a model to score with. @default an export of what the traced model names */
  readonly writeInference?: (model: InferenceToWrite) => Promise<void>
}

/** What fleet.saveInferenceModel asks of a program, on worker 0. */
export interface InferenceToWrite {
  readonly dirname: string
  readonly feeds: readonly string[]
  /** Variables or their names; none: what the program would choose. */
  readonly targets: readonly (string | { readonly name: string })[]
  /** A copy of what the servers hold. */
  readonly params: LocalParams
  /** Of the folder. */
  readonly lock: FolderLock
}

/** An optimizer with a minimize of its own, as fluid's are: it gives the one that `fleet.distributedOptimizer` returns. */
export interface Distributable<Wrapped> {
  /** The same optimizer, whose minimize also calls `fleet.register` with the finished program. */
  distributed(fleet: FleetRegistry): Wrapped
}

/** Where a finished program goes. */
export interface FleetRegistry {
  /** Throws a UserError where the strategy does not fit the program. */
  register(program: TrainingProgram): FleetProgram
}

/** A registered program: kept beside the program, so that an Executor that is given the one finds the other. */
export interface FleetProgram extends SettledStrategy {
  readonly cluster: Cluster
  /** Which server owns a sign. */
  readonly placement: Placement
  /** The way to the servers; undefined in a job of one process. Throws a UserError before initWorker and after stopWorker. */
  readonly worker: FleetWorker | undefined
}

/** A worker that is connected to its servers. */
export interface FleetWorker {
  /** Trainer threads over files, for trainFromDataset and inferFromDataset. `config.runner.thread_num` are the threads. */
  openRuntime(options: Omit<RuntimeOptions, 'model' | 'trainers'>): Promise<FleetRuntime>
  /** Steps of the calling thread, for Executor.run with a feed: pull, compute, push. */
  openParams(): Promise<Params>
  /** A copy of what the servers hold: for saving and for looking at weights. Takes the memory of the whole model. */
  gather(): Promise<LocalParams>
  /** Gives all weights to the servers. */
  scatter(params: LocalParams): Promise<void>
}

/** Passes over data with the servers' weights: what Runtime is to a process of its own. Between passes its threads do not keep the process from ending. */
export interface FleetRuntime {
  pass(phase: 'train' | 'infer', epoch: number, changes?: PassChanges): Promise<PassResult>
  close(): Promise<void>
}
