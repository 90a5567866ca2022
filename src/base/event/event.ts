/** @file Everything a person may want to watch, as one discriminated union. Printers, logs and tests read this stream. */

import type { CalibrationPart, Link, Norms, Slice, TableSize } from './measured.ts'
import type { View } from './view.ts'

/** Metric values by name; `loss` and `auc` where the model has them. */
export type Metrics = Readonly<Record<string, number>>

/** What one epoch measured, in training and on the test data. */
export interface EpochRecord {
  readonly epoch: number
  readonly train: Metrics
  readonly test?: Metrics | undefined
}

/** What a process has trained of an epoch. */
export interface Trained {
  readonly batches: number
  readonly samples: number
}

/** Everything that a run tells while it works, by `kind`. */
export type Event =
  /** A run begins; `settings` is the resolved configuration worth showing, by dotted key (`runner.epochs`). */
  | {
      readonly kind: 'start'
      readonly command: 'train' | 'infer'
      readonly model: string
      readonly settings: Readonly<Record<string, unknown>>
      /** Which process of a parameter-server job this is. */
      readonly job?: { readonly role: 'worker' | 'server'; readonly rank: number; readonly threads: number } | undefined
    }
  /** Values under a title, as PaddleRec 1.x prints them before a run. */
  | { readonly kind: 'table'; readonly title: string; readonly values: Readonly<Record<string, unknown>> }
  /** The first step is about to run: start-up is over. */
  | { readonly kind: 'ready'; readonly startupSeconds: number }
  | {
      readonly kind: 'epochStart'
      readonly phase?: 'train' | 'infer' | undefined
      readonly epoch: number
      readonly files: number
      readonly bytes: number
    }
  /** Every print_interval batches. Metrics are running values over the epoch so far; `fraction` of the epoch's input bytes is read. */
  | {
      readonly kind: 'batch'
      readonly phase: 'train' | 'infer'
      readonly epoch: number
      readonly batch: number
      readonly samples: number
      /** Of `batch` and `samples`, what had been trained where this goes on inside an epoch. */
      readonly before?: Trained | undefined
      readonly fraction: number
      readonly metrics: Metrics
      readonly readerSecondsPerBatch: number
      readonly secondsPerBatch: number
      readonly samplesPerBatch: number
      readonly samplesPerSecond: number
      /** Where the time of a trainer thread went since the last such event, in seconds a batch. */
      readonly breakdown?: Readonly<Record<string, number>> | undefined
      /** Of the newest step that is known to be applied. */
      readonly learningRate?: number | undefined
      /** Steps of other threads and workers between two of a thread, on average since the last such event: so old are weights when gradients for them come. */
      readonly staleness?: number | undefined
      /** How long gradients and weights are, as of one of the last batches. */
      readonly norms?: Norms | undefined
      /** To the processes that hold the weights, since the last such event. */
      readonly links?: readonly Link[] | undefined
      /** Metrics that are more than a number, in words, by name. */
      readonly reports?: Readonly<Record<string, string>> | undefined
      /** Their parts, and areas over the batches since the last such event, by PaddleRec 1.x's names. */
      readonly shown?: Readonly<Record<string, readonly (number | readonly number[])[]>> | undefined
    }
  /** One phase of an epoch is done, with its metrics over all of it. */
  | {
      readonly kind: 'epoch'
      readonly phase: 'train' | 'infer'
      readonly epoch: number
      readonly samples: number
      /** Of this process alone, where `samples` are of the whole job. */
      readonly own?: Trained | undefined
      /** Of `own`, what had been trained where this goes on inside an epoch. */
      readonly before?: Trained | undefined
      readonly seconds: number
      readonly samplesPerSecond: number
      readonly metrics: Metrics
      /** Metrics that are more than a number, in words, by name. */
      readonly reports?: Readonly<Record<string, string>> | undefined
      /** AUC by the value of a slot, `auc by gender`: those with most samples first. */
      readonly slices?: Readonly<Record<string, readonly Slice[]>> | undefined
      /** By AUC: samples by prediction, in parts of about equally many. */
      readonly calibration?: Readonly<Record<string, readonly CalibrationPart[]>> | undefined
    }
  /** A checkpoint is whole and in its place; `epoch` is the one it holds. */
  | {
      readonly kind: 'saved'
      readonly path: string
      readonly epoch: number
      /** The last batch in it, where it was saved inside the epoch. */
      readonly batch?: number | undefined
      readonly bytes?: number | undefined
      readonly seconds?: number | undefined
      /** Of these, so long training stood still, where it went on before the end. */
      readonly pauseSeconds?: number | undefined
      /** Processor time of all processes: rows looked through and copied, checksums. */
      readonly workSeconds?: number | undefined
    }
  /** A checkpoint was loaded: to evaluate it, to resume (`epoch` is the last one trained, -1 for none) or to start from it. */
  | {
      readonly kind: 'loaded'
      readonly path: string
      readonly epoch: number
      readonly bytes?: number | undefined
      readonly seconds?: number | undefined
    }
  /** A table that takes long to save or to load. */
  | {
      readonly kind: 'progress'
      readonly what: 'save' | 'load'
      readonly table: string
      readonly rows: number
      readonly ofRows: number
    }
  /** What the passes of the GPU parameter server will take: rows as counted in the first pass, or, before it is loaded, as estimated. */
  | {
      readonly kind: 'forecast'
      readonly passes: number
      readonly devices: number
      readonly samples: number
      readonly estimated: boolean
      readonly tables: readonly {
        readonly table: string
        /** Of one pass. */
        readonly rows: number
        /** Where the pass trains, all devices together. */
        readonly deviceBytes: number
        /** The rows that training starts with, and those of the passes that are in memory at once. */
        readonly memoryBytes: number
      }[]
      /** The same for all tables, with the samples of these passes. */
      readonly deviceBytes: number
      readonly memoryBytes: number
    }
  /** A pass of the GPU parameter server is about to train: its samples are loaded and its rows in place. */
  | {
      readonly kind: 'passBegin'
      readonly epoch: number
      readonly pass: number
      readonly passes: number
      readonly samples: number
      readonly rows: number
      /** Of the preparation, which goes on while the pass before trains. */
      readonly loadSeconds: number
      readonly collectSeconds: number
      /** How long training stood still for it. */
      readonly waitedSeconds: number
      /** That, and putting the rows where they are trained. */
      readonly seconds: number
    }
  /** Its rows are back in the host's tables. */
  | {
      readonly kind: 'passEnd'
      readonly epoch: number
      readonly pass: number
      readonly passes: number
      readonly rows: number
      /** Rows that the host's tables did not have before. */
      readonly newRows: number
      /** Rows pulled, written back, and moved to and from devices. */
      readonly bytesMoved: number
      readonly waitedSeconds: number
      /** Of writing back. */
      readonly seconds: number
    }
  /** A table with a memory limit at the end of a pass: what is where, and what the pass has asked of memory and disk. */
  | {
      readonly kind: 'rows'
      readonly table: string
      readonly rows: number
      readonly memoryRows: number
      /** Index, filters and buffers included. */
      readonly memoryBytes: number
      readonly limitBytes: number
      readonly diskRows: number
      readonly diskBytes: number
      /** Of the rows that batches wanted, those that were in memory already. */
      readonly hitRate: number
      /** Rows that were brought from the disk. */
      readonly misses: number
      readonly evicted: number
      /** Of the evicted those that were given up, where there is no disk. */
      readonly lost: number
      readonly readSeconds: number
      /** How long no batch could be handed out, since those under way had all of the memory. */
      readonly waitedSeconds: number
      readonly readBytesPerSample: number
      readonly writtenBytesPerSample: number
      /** Whether reads pass by the page cache. */
      readonly isDirect: boolean
    }
  /** The tables of this process as they are, every few seconds. */
  | {
      readonly kind: 'tables'
      /** Of the server: steps that were applied. */
      readonly step?: number | undefined
      readonly tables: readonly TableSize[]
    }
  /** A base or a delta of online training is in its place, and in the log that servers follow. */
  | {
      readonly kind: 'published'
      readonly version: 'base' | 'delta'
      /** One more with each version; one that is published again after a new start has the number that it had. */
      readonly sequence: number
      readonly day: string
      /** 0: what the day begins with. */
      readonly pass: number
      readonly rows: number
      /** Rows that went. */
      readonly gone: number
      readonly bytes: number
      /** In milliseconds since 1970; of what is published again, when it was first. */
      readonly publishedAt: number
    }
  /** How far training is behind a stream, when it was looked at. */
  | {
      readonly kind: 'stream'
      readonly stream: string
      /** What is there and in no pass yet. */
      readonly lag: number
      readonly unit: 'records' | 'bytes'
    }
  /** A process that a launcher supervises changed its state; `exit` says how it ended, in words. */
  | {
      readonly kind: 'process'
      readonly role: 'worker' | 'server'
      readonly rank: number
      readonly pid: number
      readonly state: ProcessState
      readonly endpoint: string
      readonly log: string
      /** Where it runs, if that is not here. */
      readonly host?: string | undefined
      readonly exit?: string | undefined
    }
  /** A line of such a process. All lines of an echoed one; of the others now and then the newest, for a live view. */
  | {
      readonly kind: 'output'
      readonly role: 'worker' | 'server'
      readonly rank: number
      readonly line: string
      readonly echo: boolean
      /** How far it is, for a live view; the line is empty then. */
      readonly view?: View | undefined
    }
  /** Worth knowing, said once. */
  | { readonly kind: 'notice'; readonly message: string }
  | {
      readonly kind: 'warning'
      readonly message: string
      /** Something takes far longer than it used to. */
      readonly stalled?:
        | {
            readonly stage: 'start' | 'steps' | 'save' | 'evaluation'
            readonly seconds: number
            /** The longest before. */
            readonly longestSeconds?: number | undefined
            readonly waitingFor: readonly string[]
          }
        | undefined
    }
  /** Ctrl+C or SIGTERM: the steps under way were finished and training stopped there; `path` holds what --resume goes on from. */
  | {
      readonly kind: 'interrupted'
      readonly epoch: number
      readonly batch: number
      readonly samples: number
      readonly path?: string | undefined
    }
  | {
      readonly kind: 'error'
      readonly code: string
      readonly message: string
      readonly where?: string | undefined
      readonly hint?: string | undefined
    }
  /** The last event: training time without start-up and without evaluation, final metrics. */
  | {
      readonly kind: 'done'
      readonly samples: number
      readonly seconds: number
      readonly samplesPerSecond: number
      readonly metrics: Metrics
      /** Metrics on test_data_dir after the last epoch, where it was evaluated. */
      readonly evaluation?: Metrics | undefined
      /** Every epoch of the run, those before a --resume among them where they were kept. */
      readonly epochs?: readonly EpochRecord[] | undefined
      /** The best of them on the test data. */
      readonly best?: { readonly epoch: number; readonly metric: string; readonly value: number } | undefined
      /** Where the time went, summed over trainer threads, in seconds. */
      readonly breakdown?: Readonly<Record<string, number>> | undefined
      /** SHA-256 over weights, optimizer state and rows, with --digest. */
      readonly digest?: string | undefined
    }

/** running, then stopping when the launcher asks it to end; done with exit code 0, failed by itself, stopped when asked. */
export const PROCESS_STATES = ['running', 'stopping', 'done', 'failed', 'stopped'] as const
export type ProcessState = (typeof PROCESS_STATES)[number]

export type EventKind = Event['kind']
export type EventOf<K extends EventKind> = Extract<Event, { kind: K }>

/** Where events go. A sink never throws and never blocks training. */
export type EventSink = (event: Event) => void

/** A table with one handler an event kind, so that a new kind does not compile until every printer has decided about it. */
export type ByKind<R> = { readonly [K in EventKind]: (event: EventOf<K>) => R }

export function byKind<R>(table: ByKind<R>, event: Event): R {
  return (table[event.kind] as (event: Event) => R)(event)
}
