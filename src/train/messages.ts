/** @file What the training loop and its trainer threads say to each other. */
import type { Batch, Slot } from '../data/index.ts'
import type { MetricSpec } from '../metric/index.ts'
import type { DygraphSource } from '../model/index.ts'
import type { Clip } from '../optim/index.ts'
import type { LocalParamsHandle } from '../params/index.ts'
import type { Program } from '../program/index.ts'
import type { GeoParamsHandle, RemoteParamsHandle, Touched } from '../ps/index.ts'
import type { PlainError } from '../util/index.ts'
import type { StepResult } from './host-step.ts'
import type { HybridHandle } from './parallel/hybrid-params.ts'
import type { ParallelHandle } from './parallel/parallel-handle.ts'
import type { ShownSlots } from './shown.ts'

export const ENGINES = ['ort', 'reference', 'null'] as const
export type EngineName = (typeof ENGINES)[number]

export const PHASES = ['train', 'infer'] as const
export type Phase = (typeof PHASES)[number]

/** What a thread knows from its start. */
export interface ThreadSettings {
  readonly thread: number
  readonly engine: EngineName
  /** What to compile: evaluation alone needs no training program. */
  readonly programs: Readonly<Partial<Record<Phase, Program>>>
  readonly slots: readonly Slot[]
  readonly metrics: readonly MetricSpec[]
  /** Weights in this process alone, in step with other ranks', or on servers reached through the main thread. */
  readonly params: LocalParamsHandle | ParallelHandle | RemoteParamsHandle | GeoParamsHandle | HybridHandle
  readonly segments: number
  readonly batchSizes: Readonly<Record<Phase, number>>
  readonly seed: number
  readonly clip?: Clip
  /** Tables with accessors, and where their show and click come from. */
  readonly shown?: Readonly<Record<string, ShownSlots>>
  /** Results carry what was fetched. @default false */
  readonly dump?: boolean
  /** Set for a dynamic model, which the thread loads itself; the programs then hold no ops. */
  readonly dygraph?: DygraphSource
}

export type ToThread =
  /** One step. With `report`, the answer carries the histograms so far. */
  | {
      readonly kind: 'step'
      readonly phase: Phase
      readonly batch: Batch
      readonly report: boolean
      /** This process was told to stop: ranks in step with it shall know, and stop a few steps later. */
      readonly stopping?: boolean
    }
  /** No batch is left for this thread in a step that others take part in. */
  | { readonly kind: 'skip'; readonly phase: Phase }
  /** Geo: which rows were trained since this was last asked. */
  | { readonly kind: 'touched'; readonly phase: Phase }
  /** Ends a phase: everything pushed is applied; the answer carries the histograms and the time spent, and both start anew. */
  | {
      readonly kind: 'finish'
      readonly phase: Phase
      /** This process was told to stop: ranks in step with it shall stop too. */
      readonly stopping?: boolean
    }

export type Histograms = Readonly<Record<string, Uint32Array>>

export type FromThread =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'step'
      readonly phase: Phase
      readonly index: number
      /** The batch came in so many slices. */
      readonly slices?: number
      readonly size: number
      readonly fraction: number
      readonly result: StepResult
      readonly histograms?: Histograms
      /** A rank in step with this one was told to stop. */
      readonly stopping?: boolean
    }
  | { readonly kind: 'skip' }
  | { readonly kind: 'touched'; readonly touched: Touched }
  | { readonly kind: 'notice'; readonly message: string }
  | { readonly kind: 'finish'; readonly histograms: Histograms; readonly seconds: Readonly<Record<string, number>> }
  | { readonly kind: 'error'; readonly error: PlainError }
