/** @file The messages between the thread that answers the network and the threads that score. */

import type { Device } from '../../base/device/index.ts'
import type { PlainError } from '../../base/util/index.ts'
import type { UserReaderOptions } from '../../data/index.ts'
import type { LoadedExport } from '../export/index.ts'
import type { LoadedIndex } from '../recall/index.ts'
import type { ExpectedDelta } from '../versions/index.ts'

export const BODY_KINDS = ['json', 'text'] as const
export type BodyKind = (typeof BODY_KINDS)[number]

/** A model to score with; of an index the part that makes a user's vector, and the items. */
export interface LoadedModel extends LoadedExport {
  readonly index?: LoadedIndex | undefined
}

/** A body as it came; it is parsed where it is scored. */
export interface ScoreRequest {
  readonly kind: BodyKind
  readonly body: Uint8Array
  /** The kind of answer asked for: JSON, or one score a line. */
  readonly answer: BodyKind
  /** Of a request to /recall: what its address says. */
  readonly query?: string | undefined
}

export interface ScoreResponse {
  readonly status: number
  readonly body: string
  readonly samples: number
}

/** What a scoring thread is started with. The first thread of a model reads it from the disk and the others share its memory. */
export interface ScorerSettings {
  readonly model:
    | { readonly kind: 'folder'; readonly folder: string; readonly version?: string | undefined }
    | { readonly kind: 'index'; readonly folder: string }
    | { readonly kind: 'loaded'; readonly loaded: LoadedModel }
    /** `loaded` with the delta of a folder applied, which must follow it. */
    | {
        readonly kind: 'delta'
        readonly loaded: LoadedModel
        readonly folder: string
        readonly expected: ExpectedDelta
        readonly version: string
      }
    /** `loaded` with newer dense weights. */
    | {
        readonly kind: 'dense'
        readonly loaded: LoadedModel
        readonly model: Uint8Array
        readonly steps: number
        readonly version: string
      }
  /** What a request lacks is filled as in training, instead of being refused. */
  readonly fillMissing: boolean
  readonly device: Device
  /** Reads text as the model's own reader does. */
  readonly reader?: UserReaderOptions | undefined
}

/** What a scoring thread is sent: a batch, or another model, which is the one it scores with from then on. */
export type ScorerTask = ScoreBatch | { readonly kind: 'load'; readonly model: ScorerSettings['model'] }

export interface ScoreBatch {
  readonly kind: 'score'
  readonly batch: number
  readonly requests: readonly ScoreRequest[]
}

/** What a scoring thread answers. */
export type ScorerMessage =
  | { readonly kind: 'ready'; readonly loaded: LoadedModel }
  | { readonly kind: 'scored'; readonly batch: number; readonly responses: readonly ScoreResponse[] }
  /** The thread cannot start, or the other model cannot be loaded. */
  | { readonly kind: 'failed'; readonly error: PlainError }
