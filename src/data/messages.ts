/** @file What the reader's owner and its threads say to each other. */
import type { TextFormat } from '../kernel/index.ts'
import type { PlainError } from '../util/index.ts'
import type { ParsedChunk, Slot } from './batch.ts'
import type { ColumnsOptions } from './column-spec.ts'
import type { FifoPaths } from './fifo.ts'
import type { PipeOptions } from './pipe.ts'
import type { Chunk } from './plan.ts'
import type { ProcessNote } from './process-note.ts'

export interface UserReaderOptions {
  /** The module that exports RecDataset. */
  readonly path: string
  /** It is a part of this package that exports openDataset(config), which gives the class. @default false: a user's file */
  readonly ours?: boolean
  /** The class, where the config names it: of the same kind, or a 1.x reader of lines. @default RecDataset */
  readonly className?: string
  /** Given to its constructor; plain data. */
  readonly config: unknown
}

/** What a thread knows from its start. */
export interface ThreadSettings {
  readonly slots: readonly Slot[]
  readonly onBadLine: 'error' | 'skip'
  readonly userReader?: UserReaderOptions
  /** Reads what this command prints for each file. */
  readonly pipe?: PipeOptions
  readonly columns?: ColumnsOptions
  /** Texts before the slots of a line of MultiSlot text: an instance id, then content. @default 0 */
  readonly leadingFields?: number
  /** The value of a slot that a line of slot text does not have: a whole number. @default 0 */
  readonly padding?: number
  /** As InMemoryDataset: sign 0 is dropped, and a slot left empty has the single sign 0. @default false */
  readonly dropZeros?: boolean
}

/** What one thread is started with. */
export type ThreadData = ThreadSettings & {
  readonly process: ProcessNote
  /** Where commands print to, if the system has named pipes. */
  readonly fifos?: FifoPaths | undefined
}

/** Parts of a chunk that a thread may be ahead of its consumer. */
export const PARTS_AHEAD = 4

export type ToThread =
  /** Read a chunk. `buffer` may be used again. */
  | {
      readonly kind: 'chunk'
      readonly read: number
      readonly chunk: Chunk
      readonly format: TextFormat
      readonly buffer?: SharedArrayBuffer
    }
  /** A part was consumed: one more may be sent. */
  | { readonly kind: 'consumed'; readonly read: number; readonly chunk: number; readonly buffer?: SharedArrayBuffer }
  /** Drop every chunk of this read. */
  | { readonly kind: 'cancel'; readonly read: number }

export type FromThread =
  | {
      readonly kind: 'part'
      readonly read: number
      readonly chunk: number
      readonly parsed: ParsedChunk
      readonly bytes: number
      readonly skipped: number
      readonly ignored: readonly string[]
      /** The texts before each sample's slots, where the data has them. */
      readonly leading?: readonly (readonly string[])[]
      /** Over the chunk's text up to here, where reading it again could give other text. */
      readonly checksum?: number
    }
  | { readonly kind: 'end'; readonly read: number; readonly chunk: number; readonly error?: PlainError }
