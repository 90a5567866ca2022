/** @file What the training loop and its trainer threads say to each other. */

import type { Device } from '../../base/device/index.ts'
import type { PlainError } from '../../base/util/index.ts'
import type { Batch } from '../../data/index.ts'
import type { Program } from '../../graph/program/index.ts'
import type { DygraphSource } from '../../model/index.ts'
import type { AucHistogram } from '../../weights/metric/index.ts'
import type { LinkCount, LocalParamsHandle } from '../../weights/params/index.ts'
import type { Moved, PassHandle, Side } from '../passes/index.ts'
import type { GeoParamsHandle, RemoteParamsHandle, Touched } from '../ps/index.ts'
import type { HostStepOptions, HybridHandle, ParallelHandle, StepResult } from '../step/index.ts'
import type { Gate } from './gate.ts'

export const ENGINES = ['ort', 'reference', 'null'] as const
export type EngineName = (typeof ENGINES)[number]

export const PHASES = ['train', 'infer'] as const
export type Phase = (typeof PHASES)[number]

/** What the steps of all threads and phases have in common. */
type SharedSettings = Pick<HostStepOptions, 'slots' | 'metrics' | 'segments' | 'seed' | 'clip' | 'showClick' | 'dump'>

/** What a thread knows from its start. */
export interface TrainerThreadSettings extends SharedSettings {
  readonly thread: number
  readonly engine: EngineName
  /** Passed on the way into the engine, so that no thread is ended in there. */
  readonly gate: Gate
  /** What `ort` computes on. */
  readonly device: Device
  /** What to compile: evaluation alone needs no training program. */
  readonly programs: Readonly<Record<Phase, Program | undefined>>
  /** Weights in this process alone, in step with other ranks', or on servers reached through the main thread. */
  readonly params: LocalParamsHandle | ParallelHandle | RemoteParamsHandle | GeoParamsHandle | HybridHandle | PassHandle
  readonly batchSizes: Readonly<Record<Phase, number>>
  /** Set for a dynamic model, which the thread loads itself; the programs then hold no ops. */
  readonly dygraph?: DygraphSource | undefined
}

export type ToTrainerThread =
  /** One step. With `report`, the answer carries the histograms so far. */
  | {
      readonly kind: 'step'
      readonly phase: Phase
      readonly batch: Batch
      readonly report: boolean
      /** This process was asked to stop: ranks in step with it shall know, and stop a few steps later. */
      readonly stopping?: boolean | undefined
    }
  /** No batch is left for this thread in a step that others take part in. */
  | { readonly kind: 'skip'; readonly phase: Phase }
  /** Geo: which rows were trained since this was last asked. */
  | { readonly kind: 'touched'; readonly phase: Phase }
  /** A pass of the GPU parameter server begins over this side's rows, or ends: see PassRows. */
  | { readonly kind: 'begin'; readonly phase: Phase; readonly side: Side }
  | { readonly kind: 'end'; readonly phase: Phase }
  /** Ends a phase: everything pushed is applied; the answer carries the histograms and the time spent, and both start anew. */
  | {
      readonly kind: 'finish'
      readonly phase: Phase
      /** This process was asked to stop: ranks in step with it shall stop too. */
      readonly stopping?: boolean | undefined
    }

export type Histograms = Readonly<Record<string, AucHistogram>>
/** Of metrics by group; see GroupedAuc. */
export type Groups = Readonly<Record<string, Float64Array>>

/** How old weights are by the time the gradients for them are applied. */
export interface Stale {
  readonly behind: number
  readonly steps: number
}

export type FromTrainerThread =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'step'
      readonly phase: Phase
      readonly index: number
      /** The batch came in so many slices. */
      readonly slices?: number | undefined
      readonly size: number
      readonly fraction: number
      readonly result: StepResult
      readonly histograms?: Histograms | undefined
      /** Where the thread's time went since the phase began, beside the histograms. */
      readonly seconds?: Readonly<Record<string, number>> | undefined
      /** What has travelled since the thread began, beside them. */
      readonly links?: readonly LinkCount[] | undefined
      /** Steps of others between two of this thread, summed over so many of its own, since the phase began. */
      readonly stale?: Stale | undefined
      /** A rank in step with this one was asked to stop. */
      readonly stopping?: boolean | undefined
    }
  | { readonly kind: 'skip' }
  | { readonly kind: 'touched'; readonly touched: Touched }
  | { readonly kind: 'moved'; readonly moved: Moved }
  | { readonly kind: 'notice'; readonly message: string }
  | {
      readonly kind: 'finish'
      readonly histograms: Histograms
      readonly groups: Groups
      readonly seconds: Readonly<Record<string, number>>
    }
  | { readonly kind: 'error'; readonly error: PlainError }
