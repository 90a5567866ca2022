/** @file The seam between the two drivers (train.ts, infer.ts) and the ways a process takes part in a job: alone, with servers, among ranks. */
import type { LoadedConfig } from '../../base/config/index.ts'
import type { EpochRecord, EventOf, EventSink } from '../../base/event/index.ts'
import type { Reader } from '../../base/net/index.ts'
import type { GraphMode, TracedModel } from '../../model/index.ts'
import type { EpochsFile, RankPlace, Snapshot, WorkerPlace } from '../../weights/snapshot/index.ts'
import type {
  DataFiles,
  EngineName,
  PassOptions,
  PassResult,
  PassStart,
  Phase,
  RuntimeOptions,
} from '../threads/index.ts'
import type { JobCheckpoints } from './job-checkpoints.ts'

/** One process of a job. A driver calls these methods in this order, `pass` many times. A job of one process has nobody to join or to leave. */
export interface Job {
  /** What the start event says of a process that is one among servers and workers. */
  readonly role?: EventOf<'start'>['job']
  /** Loads the model and finds what can be found out before the other processes are asked. */
  prepare(): Promise<void>
  /** Reaches the other processes and agrees with them: on settings and model, and on who reads which part of the data. */
  join?(): Promise<void>
  /** One phase of one epoch over this process's part of the data. Metrics, `interrupted` and `paused` are those of all processes. */
  pass(phase: Phase, epoch: number, from?: PassStart, pauses?: PassOptions['pauses']): Promise<PassResult>
  /** Everything is done: leaves the other processes in good order. */
  finish?(): Promise<void>
  /** Ends with this error, which the other processes learn. */
  abort?(error: Error): Promise<void>
  /** Ends threads. The last call, after `finish` or `abort`. */
  close(): Promise<void>
}

/** What the first process finds, on every process; its failure is everyone's too. Values are JSON, which `read` looks through where they arrive. */
export type Agree = <T>(work: () => Promise<T>, read: Reader<T>) => Promise<T>

export interface TrainingJob extends Job {
  /** Makes the weights and fills them from the checkpoint that training goes on from, if any; returns where it begins. */
  load(): Promise<TrainingStart>
  /** Starts reader and trainer threads. */
  open(): Promise<void>
  /** Called by every process at the same point. @default there is one process */
  readonly agree?: Agree | undefined
  /** Begins to load the data of an epoch, where it can be loaded beside another that trains. @default it is loaded when it is trained */
  prefetch?(epoch: number): void
  /** Whether there is data to evaluate after each epoch; known after `join`. */
  readonly evaluates: boolean
  /** After an epoch: a checkpoint and, where the config asks for it, a model for inference. Returns the checkpoint's path. */
  save(epoch: number, trained: PassResult): Promise<string | undefined>
  /** After an evaluation: keeps what all epochs have measured beside the checkpoints. @default it is not kept */
  note?(epochs: EpochsFile): Promise<void>
  /** What is needed to make cuts inside an epoch. @default there are none */
  readonly cuts?: JobCuts | undefined
  /** What training that was stopped inside an epoch has learned. */
  saveInterrupted(trained: PassResult): Promise<SavedInside>
  /** Of other processes, who is waited for now, and with what. @default not known */
  waitingFor?(): readonly string[]
  /** Dense weights by name, between two steps, while training goes on. At the first process. */
  readDense?(): Promise<ReadDense>
  /** SHA-256 over weights, optimizer state and rows; undefined at processes that do not compute it. */
  digest(): Promise<string | undefined>
}

export interface ReadDense {
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly steps: number
}

/** Of jobs of several processes, any of which may die. */
export const CUTS_TOGETHER = '60s'

export interface JobCuts {
  /** All processes make the same steps, so they pause before the same batch. */
  readonly inStep: boolean
  /** Threads that take batches in turn: they pause when each has had as many. @default 1 */
  readonly threads?: number | undefined
  /** The interval of a job that sets none. @default there are no cuts then */
  readonly byDefault?: string | undefined
  /** The pass has paused on every process: takes the whole job as it is, to go on from there; it is written while training goes on. */
  save(trained: PassResult): Promise<void>
}

/** Where training begins, and what the epochs before it measured, where that was kept. */
export interface TrainingStart extends PassStart {
  readonly history?: readonly EpochRecord[] | undefined
  /** Where each worker was inside an epoch, where servers keep the weights; or each rank. Their number may be another now. */
  readonly workers?: readonly WorkerPlace[] | undefined
  readonly ranks?: readonly RankPlace[] | undefined
  /** What it goes on from, where this process loaded it with the state of its optimizers. */
  readonly from?: Snapshot | undefined
}

export interface SavedInside {
  /** Undefined: nothing was saved. */
  readonly path?: string | undefined
  /** What a user should know about it. */
  readonly notice?: string | undefined
}

export interface EvaluationJob extends Job {
  /** Calls `find` where the models lie; every process gets the same list. */
  choose(find: () => Promise<readonly SavedModel[]>): Promise<readonly SavedModel[]>
  /** Loads one of them; the passes that follow evaluate it. */
  load(saved: SavedModel): Promise<void>
  /** Whether to end before the next model. Processes that evaluate together learn it at the end of a pass instead. */
  isStopped(): boolean
}

/** A saved model to evaluate; `key` is the setting that named its folder. */
export interface SavedModel {
  readonly epoch: number
  readonly folder: string
  readonly key: string
}

/** What every job is opened with. */
export interface JobContext {
  readonly config: LoadedConfig
  readonly emit: EventSink
  /** Aborted by Ctrl+C, or because another process of the job was stopped: steps under way are finished, then the pass ends. */
  readonly stop: AbortController
  readonly engine: EngineName
  readonly mode: GraphMode
}

/** What of it every Runtime is opened with. */
export function runtimeOptions({
  config,
  engine,
  emit,
  stop,
}: JobContext): Omit<RuntimeOptions, 'model' | 'files' | 'trainers'> {
  return { config: config.config, engine, emit, signal: stop.signal }
}

export interface TrainingContext extends JobContext {
  readonly resume: boolean
  readonly rules: TrainingRules
}

/** Epochs as they come in, one after the other, perhaps without an end: the passes of days of online training. */
export interface EpochSchedule {
  /** How many there are; may be infinite. */
  readonly epochs: number
  /** Waits for the first data there are, which say what the input is like; the same files on every process. */
  find(agree: Agree): Promise<DataFiles>
  /** Waits for the data of an epoch. `skip`: there are none, and the job goes on without; `end`: the job was stopped meanwhile; `done`: nothing more comes. */
  begin(epoch: number, agree: Agree): Promise<'train' | 'skip' | 'end' | 'done'>
  /** Known after `begin`. */
  filesOf(epoch: number): readonly string[] | undefined
  /** Whether the data of an epoch, which did not begin yet, are there to be loaded: does not wait. */
  isReady(epoch: number): Promise<boolean>
  /** The model so far is judged by an epoch's data before it trains on them. */
  readonly judges: boolean
  onJudged?(epoch: number, judged: PassResult): Promise<void>
  onTrained?(epoch: number, trained: PassResult): Promise<void>
}

/** What a caller with rules of its own, such as PaddleRec 1.x's runners, does otherwise than the keys of the config say. */
export interface TrainingRules {
  /** @default the files of train_data_dir and test_data_dir */
  readonly files?: DataFiles | undefined
  /** The training files in the order of an epoch, the same on every process. @default as they are */
  readonly filesOf?: ((epoch: number) => readonly string[]) | undefined
  /** Epochs whose data come in while the job runs; `files` and `filesOf` do not count then. @default all data are there */
  readonly schedule?: EpochSchedule | undefined
  readonly checkpoints?: JobCheckpoints | undefined
  /** What the start event shows. @default the config, explained */
  readonly settings?: Readonly<Record<string, unknown>> | undefined
  /** Gets the model once it is traced. */
  readonly onModel?: ((model: TracedModel) => void) | undefined
}

/** Which files a pass reads, where its caller says it; undefined: those of its phase. */
export function epochFiles({ schedule, filesOf }: TrainingRules, phase: Phase, epoch: number) {
  if (schedule) return schedule.filesOf(epoch)
  return phase === 'train' ? filesOf?.(epoch) : undefined
}

/** How the readers of a training job differ from what the config says: a schedule's data judge and train in turn. */
export function readersOf({ rules: { schedule } }: TrainingContext): { readonly together: boolean } {
  return { together: schedule?.judges ?? false }
}
