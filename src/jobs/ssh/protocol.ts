/** @file What launcher and host say to each other over a connection: JSON lines, requests with answers one way, notes the other. */
import type { PlainError } from '../../base/util/index.ts'

export type ProcessRole = 'server' | 'worker'

/** The first line of a host. */
export interface Hello {
  readonly version: string
  /** `v20.19.0`. */
  readonly node: string
  /** The address by which the launcher reached it. */
  readonly address: string
  readonly home: string
}

export interface FileEntry {
  /** Below the folder, with forward slashes. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly executable: boolean
}

export interface HostFacts {
  /** Of the interface; undefined where there is no such interface, or it has none. */
  readonly nicAddress?: string | undefined
  readonly nics: readonly string[]
  /** Why nothing can be written to the folder. */
  readonly unwritable?: string | undefined
  readonly freeBytes: number
  /** Of the wanted ports those that are in use. */
  readonly taken: readonly number[]
}

export interface ProcessRequest {
  readonly job: string
  readonly role: ProcessRole
  readonly rank: number
  readonly folder: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Before the host's own LD_LIBRARY_PATH. */
  readonly libraryPath: string
  /** Below the folder; `.pid` beside it says which process it is. */
  readonly log: string
  /** The job is started again: its log goes on. @default false */
  readonly goesOn?: boolean | undefined
}

/** A request and its answer, by name. */
export interface Operations {
  look: [
    { root: string /** Make the root where it is missing. */; make?: boolean; nic: string; ports: readonly number[] },
    HostFacts,
  ]
  /** Makes the folder of a job from what earlier jobs left below the root; answers what is still missing. */
  take: [
    { root: string; folder: string; files: readonly FileEntry[]; folders: readonly string[] },
    { missing: readonly string[] },
  ]
  /** After an upload: all files are there, and later jobs may take them from here. */
  seal: [{ folder: string; files: readonly FileEntry[] }, null]
  /** Gives the folder to a job: a folder of logs is made; with `node` it is emptied and nodefile written. */
  open: [{ folder: string; node?: number | undefined }, null]
  /** Free ports of this host. */
  ports: [{ count: number }, readonly number[]]
  start: [ProcessRequest, { pid: number }]
  /** Waits until all of these can be connected to; answers those that could not. */
  reach: [{ endpoints: readonly string[]; timeoutMs: number }, { missing: readonly string[] }]
  /** Ends the job's processes of this role: by SIGTERM, after `stopMs` by SIGKILL. */
  stop: [{ folder: string; job: string; role: ProcessRole; stopMs: number }, { stopped: readonly number[] }]
}

export type OperationName = keyof Operations
export type RequestOf<K extends OperationName> = Operations[K][0]
export type AnswerOf<K extends OperationName> = Operations[K][1]

export type Note =
  | { readonly kind: 'output'; readonly role: ProcessRole; readonly rank: number; readonly line: string }
  | {
      readonly kind: 'ended'
      readonly role: ProcessRole
      readonly rank: number
      readonly code: number
      /** `exit code 3`, `signal SIGKILL`. */
      readonly text: string
      /** The end of its log, where it failed. */
      readonly lines: readonly string[]
      /** What it has said to its launcher: whether it made cuts, what is saved (base/event/launcher-notes.ts). */
      readonly notes: readonly string[]
    }

export type ToHost = { readonly id: number; readonly name: OperationName; readonly request: unknown }
/** One line of a host has one of these. */
export interface FromHost {
  readonly hello?: Hello
  readonly note?: Note
  /** Of the request that it answers, or that failed. */
  readonly id?: number
  readonly answer?: unknown
  readonly error?: PlainError
}
