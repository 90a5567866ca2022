/** @file What the thread that answers the network and the threads that score say to each other. */
import type { LoadedExport } from '../export/index.ts'
import type { PlainError } from '../util/index.ts'

export const BODY_KINDS = ['json', 'text'] as const
export type BodyKind = (typeof BODY_KINDS)[number]

/** A body as it came; it is parsed where it is scored. */
export interface ScoreRequest {
  readonly kind: BodyKind
  readonly body: Uint8Array
  /** The kind of answer asked for: JSON, or one score a line. */
  readonly answer: BodyKind
}

export interface ScoreResponse {
  readonly status: number
  readonly body: string
  readonly samples: number
}

/** What a thread knows from its start. The first thread of a model reads it from the disk, the others get it from there. */
export interface ThreadSettings {
  readonly model:
    | { readonly kind: 'folder'; readonly folder: string }
    | { readonly kind: 'loaded'; readonly loaded: LoadedExport }
  /** What a request lacks is filled as in training, instead of being refused. */
  readonly fillMissing: boolean
}

export interface ToThread {
  readonly batch: number
  readonly requests: readonly ScoreRequest[]
}

export type FromThread =
  | { readonly kind: 'ready'; readonly loaded: LoadedExport }
  | { readonly kind: 'scored'; readonly batch: number; readonly responses: readonly ScoreResponse[] }
  /** The thread cannot start. */
  | { readonly kind: 'failed'; readonly error: PlainError }
