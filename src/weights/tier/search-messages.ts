/** @file What goes between the thread that keeps a table's rows and the one that finds rows on the disk. */
import type { MessagePort } from 'node:worker_threads'
import type { PlainError } from '../../base/util/index.ts'
import type { StoredRun } from './merge.ts'
import type { RunKind } from './run-format.ts'

export interface SearchThreadData {
  readonly port: MessagePort
  readonly shared: SharedSearch
  readonly kind: RunKind
  readonly pagesAtOnce: number
}

/** What both threads see. */
export interface SharedSearch {
  /** Messages that were answered: searches, and changes of the runs. */
  readonly done: Int32Array
  /** SearchStats in their order. */
  readonly stats: Float64Array
}

/** Places in `done`. */
export const [FINDS, USES] = [0, 1]

export type ToSearchThread =
  | { readonly kind: 'use'; readonly runs: readonly StoredRun[] }
  /** `spare` is a buffer of an earlier answer, to be used again. */
  | { readonly kind: 'find'; readonly signs: BigUint64Array; readonly spare: ArrayBuffer | undefined }

/** Answers the next `finds` searches that were asked for, whose rows lie one after another behind their signs. */
export type FromSearchThread = { readonly finds: number } & (
  | { readonly blocks: readonly FoundBlock[] }
  | { readonly error: PlainError }
)

export interface FoundBlock {
  readonly buffer: ArrayBuffer
  readonly count: number
}
