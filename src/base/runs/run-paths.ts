/** @file What lies where in a run folder, and the shapes of its small files. */
import { join } from 'node:path'
import type { Link, Metrics, TableSize } from '../event/index.ts'

/** Of the format; a folder with a higher one was written by a newer oarfish, and is shown as far as it is understood. */
export const RUN_VERSION = 1

/** `run.json`: written once, by whichever process of the job comes first. */
export interface RunMeta {
  readonly version: number
  readonly name: string
  readonly createdAt: number
  readonly oarfish: string
  readonly node: string
  readonly platform: string
  readonly host: string
  readonly cwd: string
  readonly command: readonly string[]
  /** Of the folder of the config, where that is in a git repository. */
  readonly commit?: string | undefined
  readonly model: string
  /** Made of the logs of a job: what they do not say is missing. */
  readonly isFromLogs?: true | undefined
  /** The resolved configuration by dotted key, and where it came from; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly source: { readonly file: string; readonly text: string; readonly overrides: readonly string[] }
}

/** running: its process writes. died: the process is gone and did not say why. silent: on another host, and nothing was heard for long. */
export type RunState = 'running' | 'done' | 'stopped' | 'failed' | 'died' | 'silent'
export const ACTIVE_STATES: readonly RunState[] = ['running', 'silent']

/** `processes/worker-0.json`: replaced now and then, so that a list of runs needs no events. */
export interface ProcessStatus {
  readonly role: RunRole
  readonly rank: number
  readonly pid: number
  /** With the pid it names the process for ever. */
  readonly start?: string | undefined
  /** Where that number means something. */
  readonly place: string
  readonly host: string
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly startedAt: number
  readonly updatedAt: number
  /** How often it was started. */
  readonly starts: number
  readonly log?: string | undefined
  readonly phase?: string | undefined
  readonly epoch?: number | undefined
  readonly epochs?: number | undefined
  readonly fraction?: number | undefined
  readonly step?: number | undefined
  readonly samples?: number | undefined
  readonly samplesPerSecond?: number | undefined
  /** Share of the time of a batch that its loop waited for input. */
  readonly waiting?: number | undefined
  readonly memory?: number | undefined
  /** Steps of others between two of a thread. */
  readonly staleness?: number | undefined
  readonly links?: readonly Link[] | undefined
  readonly tables?: readonly TableSize[] | undefined
  readonly metrics?: Metrics | undefined
  readonly evaluation?: Metrics | undefined
  readonly best?: { readonly epoch: number; readonly metric: string; readonly value: number } | undefined
  readonly error?: string | undefined
}

/** `local`: it trains alone. */
export type RunRole = 'local' | 'worker' | 'server' | 'rank' | 'launcher'

export const processName = ({ role, rank }: { readonly role: string; readonly rank: number }) =>
  role === 'local' || role === 'launcher' ? role : `${role}-${rank}`

export const runPaths = (folder: string) => ({
  meta: join(folder, 'run.json'),
  tags: join(folder, 'tags.json'),
  processes: join(folder, 'processes'),
  events: join(folder, 'events'),
  curves: join(folder, 'curves'),
  status: (name: string) => join(folder, 'processes', `${name}.json`),
  eventFile: (name: string) => join(folder, 'events', `${name}.jsonl`),
  curveFile: (name: string) => join(folder, 'curves', `${name}.curve`),
})
