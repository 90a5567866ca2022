/** @file The protocol between a reader pool and its threads. */
import type { TextFormat } from '../base/kernel/index.ts'
import type { PlainError } from '../base/util/index.ts'
import type { ParsedChunk, Slot } from './batch.ts'
import type { PipeOptions } from './pipes/pipe.ts'
import type { FifoPaths } from './pipes/pipe-output.ts'
import type { ProcessNote } from './pipes/process-note.ts'
import type { Chunk } from './plan.ts'
import type { PythonReaderOptions } from './python/python-process.ts'
import type { ColumnsOptions } from './tables/column-spec.ts'
import type { SourcePart } from './text/text-source.ts'

export interface UserReaderOptions {
  /** The module that exports RecDataset. */
  readonly path: string
  /** It is a part of this package that exports openDataset(config), which gives the class. @default false: a user's file */
  readonly ours?: boolean | undefined
  /** The class, where the config names it: of the same kind, or a 1.x reader of lines. @default RecDataset */
  readonly className?: string | undefined
  /** Given to its constructor; plain data. */
  readonly config: unknown
}

/** How samples are made of files. */
export interface ReaderSettings {
  readonly slots: readonly Slot[]
  /** @default 'error' */
  readonly onBadLine?: 'error' | 'skip' | undefined
  /** Reads the files with the user's own RecDataset instead of as text. */
  readonly userReader?: UserReaderOptions | undefined
  /** Reads the files with a user's reader in Python, one process for each thread. */
  readonly python?: PythonReaderOptions | undefined
  /** Reads what this command prints for each file, one process at a time for each thread. */
  readonly pipe?: PipeOptions | undefined
  /** Which columns of a table fill which slot. @default the columns of the slots' names */
  readonly columns?: ColumnsOptions | undefined
  /** Texts before the slots of a line of MultiSlot text: an instance id, then content. @default 0 */
  readonly leadingFields?: number | undefined
  /** The value of a slot that a line of slot text does not have: a whole number. @default 0 */
  readonly padding?: number | undefined
  /** As InMemoryDataset: sign 0 is dropped, and a slot left empty has the single sign 0. @default false */
  readonly dropZeros?: boolean | undefined
}

/** What one thread is started with. */
export type ReaderThreadData = ReaderSettings & {
  /** Reads tables with columns instead of text. @default false */
  readonly table?: boolean | undefined
  readonly process: ProcessNote
  /** Where commands print to, if the system has named pipes. */
  readonly fifos?: FifoPaths | undefined
}

export type ToReaderThread =
  /** Read a chunk. `buffer` may be used again. */
  | {
      readonly kind: 'chunk'
      readonly read: number
      readonly chunk: Chunk
      readonly format: TextFormat
      /** Of whatever a user's reader draws. */
      readonly seed: number
      readonly buffer: SharedArrayBuffer | undefined
    }
  /** A part was consumed: one more may be sent. */
  | {
      readonly kind: 'consumed'
      readonly read: number
      readonly chunk: number
      readonly buffer: SharedArrayBuffer | undefined
    }
  /** Drop every chunk of this read. */
  | { readonly kind: 'cancel'; readonly read: number }

export type FromReaderThread =
  | (Omit<SourcePart, 'columns'> & {
      readonly kind: 'part'
      readonly read: number
      readonly chunk: number
      readonly parsed: ParsedChunk
    })
  | { readonly kind: 'end'; readonly read: number; readonly chunk: number; readonly error?: PlainError }
