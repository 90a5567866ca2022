/** @file What the page asks for and gets: plain JSON, the same types on both sides. Imports nothing, since a browser reads it too. */

export type State = 'running' | 'done' | 'stopped' | 'failed' | 'died' | 'silent'
export type Values = Readonly<Record<string, number>>

/** A run in the list. */
export interface RunRow {
  readonly id: string
  readonly name: string
  readonly folder: string
  readonly model: string
  readonly state: State
  readonly createdAt: number
  readonly updatedAt: number
  readonly tags: readonly string[]
  readonly processes: number
  readonly epoch?: number | undefined
  readonly epochs?: number | undefined
  /** Of all epochs, from 0 to 1. */
  readonly progress?: number | undefined
  readonly step?: number | undefined
  readonly samplesPerSecond?: number | undefined
  /** Of training. */
  readonly metrics: Values
  /** Of the evaluation. */
  readonly test: Values
  /** Its best epoch, once it is over. */
  readonly best?: { readonly metric: string; readonly value: number } | undefined
  /** Name of the sweep that made it. */
  readonly sweep?: string | undefined
  readonly error?: string | undefined
  /** Settings in which the listed runs differ. */
  readonly settings: Readonly<Record<string, unknown>>
  /** It was written by a newer oarfish: not all of it may be shown. */
  readonly isNewer: boolean
}

export interface RunList {
  readonly version: string
  readonly folders: readonly string[]
  readonly runs: readonly RunRow[]
  readonly sweeps: readonly SweepRow[]
  /** Folders that look like runs and cannot be read. */
  readonly unreadable: number
}

export interface SweepRow {
  readonly name: string
  readonly strategy: string
  /** What it changes. */
  readonly keys: readonly string[]
  /** What its runs are compared by; unset: auc, else loss. */
  readonly metric?: string | undefined
  /** Epochs of the runs of each rung in all, and how many runs come that far; none where it does not say. */
  readonly rungs: readonly { readonly epochs: number; readonly runs: number }[]
}

export interface ProcessRow {
  readonly name: string
  readonly role: string
  readonly rank: number
  readonly host: string
  readonly pid: number
  readonly state: State
  readonly starts: number
  readonly updatedAt: number
  readonly step?: number | undefined
  readonly samplesPerSecond?: number | undefined
  /** Share of a batch's time spent waiting for input. */
  readonly waiting?: number | undefined
  readonly memory?: number | undefined
  /** Steps of others between two of a thread. */
  readonly staleness?: number | undefined
  readonly links: readonly LinkRow[]
  readonly tables: readonly TableRow[]
  readonly hasLog: boolean
  readonly error?: string | undefined
  /** Seconds of a batch by part, over the newest batches. */
  readonly parts: Values
}

/** What travels to another process of the run, and how long that one takes to answer. */
export interface LinkRow {
  readonly to: string
  readonly sentBytesPerSecond: number
  readonly receivedBytesPerSecond: number
  readonly answerSeconds: number
  readonly busy: number
}

export interface TableRow {
  readonly table: string
  readonly memoryRows: number
  readonly memoryBytes: number
  readonly diskRows: number
  readonly diskBytes: number
}

export interface EpochRow {
  readonly epoch: number
  readonly train?: Values | undefined
  readonly test?: Values | undefined
  readonly seconds?: number | undefined
  readonly saved?: string | undefined
  readonly bytes?: number | undefined
  readonly isBest: boolean
  readonly slices?: Readonly<Record<string, readonly Slice[]>> | undefined
  readonly reports?: Readonly<Record<string, string>> | undefined
  readonly calibration?: Readonly<Record<string, readonly CalibrationPart[]>> | undefined
}

/** Of samples by their prediction: what was predicted, and what happened. */
export interface CalibrationPart {
  readonly to: number
  readonly samples: number
  readonly predicted: number
  readonly happened: number
}

export interface Slice {
  readonly value: string
  readonly samples: number
  readonly auc: number
  /** `samples` is the sum of their weights. */
  readonly weighted?: true
}

/** Something that happened at a time: a start, a cut, a restart, an end. */
export interface Mark {
  readonly at: number
  readonly kind: 'start' | 'saved' | 'loaded' | 'restart' | 'warning' | 'failed' | 'end'
  readonly text: string
}

/** What is worth knowing, in words: a number of the sentence in the page's languages, and its values. */
export interface Hint {
  readonly kind:
    | 'input'
    | 'late'
    | 'server'
    | 'lookup'
    | 'overfit'
    | 'died'
    | 'silent'
    | 'damaged'
    | 'newer'
    | 'restarts'
    | 'fromLogs'
  readonly values: Readonly<Record<string, string | number>>
}

export interface RunDetail {
  readonly row: RunRow
  readonly host: string
  readonly oarfish: string
  readonly node: string
  readonly commit?: string | undefined
  readonly command: readonly string[]
  readonly settings: Readonly<Record<string, unknown>>
  readonly source: { readonly file: string; readonly text: string; readonly overrides: readonly string[] }
  readonly processes: readonly ProcessRow[]
  readonly epochs: readonly EpochRow[]
  readonly marks: readonly Mark[]
  readonly hints: readonly Hint[]
  readonly messages: readonly {
    readonly at: number
    readonly process: string
    readonly kind: string
    readonly text: string
  }[]
  /** What can be drawn. */
  readonly columns: readonly string[]
  /** Lines and records that could not be read. */
  readonly damaged: number
  /** What `oarfish importance` found of its slots. */
  readonly importance?: SlotsImportance | undefined
  /** Of online training. */
  readonly online?: Online | undefined
}

/** What online training has published, and how far those are that follow it. */
export interface Online {
  /** The newest, oldest first. */
  readonly versions: readonly PublishedVersion[]
  /** All that were published. */
  readonly total: number
  readonly followers: readonly FollowerRow[]
}

export interface PublishedVersion {
  readonly kind: 'base' | 'delta'
  readonly sequence: number
  readonly day: string
  readonly pass: number
  readonly rows: number
  readonly gone: number
  readonly bytes: number
  readonly at: number
}

export interface FollowerRow {
  readonly name: string
  readonly isSilent: boolean
  readonly updatedAt: number
  readonly version: string
  readonly sequence: number
  /** Versions that are published and not served by it. */
  readonly behind: number
  readonly lagSeconds: number
  readonly pinned: string | null
  readonly waiting: string | null
  /** Of versions that it took up while it followed: how long after they were published. */
  readonly taken: readonly { readonly sequence: number; readonly at: number; readonly lagSeconds: number }[]
}

export interface SlotsImportance {
  readonly epoch: number
  readonly samples: number
  readonly metric: string
  readonly auc: number
  readonly slots: readonly { readonly slot: string; readonly lost: number; readonly spread: number }[]
}

export type Axis = 'step' | 'samples' | 'time'
export type Phase = 'train' | 'test'

/** One line of a chart; `total` points lie in the range, of which those in `x` are shown. */
export interface Series {
  readonly run: string
  readonly process: string
  readonly x: readonly number[]
  readonly y: readonly (number | null)[]
  readonly total: number
}

export interface Charts {
  /** By metric. */
  readonly charts: Readonly<Record<string, readonly Series[]>>
  readonly damaged: number
}

export interface LogLines {
  readonly path: string
  readonly lines: readonly { readonly number: number; readonly text: string }[]
  /** Lines of the log, and of them those that match; the newest are shown. */
  readonly total: number
  readonly matching: number
  /** The log is longer than what is read of it: the beginning is left out. */
  readonly isCut: boolean
}
