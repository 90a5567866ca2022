/** @file Jobs that were started from here over ssh: how `oarfish jobs`, `status`, `logs` and `stop` find them again, and end one whose launcher is gone. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isUserError, type UserError } from '../../base/util/index.ts'
import { noSuchJob, together } from './errors.ts'
import type { SshHost } from './host.ts'
import { type Hosts, type OpenHostsOptions, openHosts } from './open-hosts.ts'

export interface JobRecord {
  readonly hosts: readonly SshHost[]
  /** On each of them. */
  readonly folder: string
  /** `oarfish stop` ends its processes: whoever supervises it is not to start them again. @default false */
  readonly isStopping?: boolean | undefined
  /** Where it is over: how, when in milliseconds, and why. */
  readonly end?: JobEnd | undefined
}

export interface JobEnd {
  readonly phase: 'succeeded' | 'failed' | 'stopped'
  readonly at: number
  readonly reason?: string | undefined
}

/** A name nobody here has: `JOB20261115120000`, the time of its start as in the original; two of one second get two. */
export function claimName(records: string, now: Date): string {
  mkdirSync(records, { recursive: true })
  for (let at = now; ; at = new Date(at.getTime() + 1000)) {
    const name = `JOB${stamp(at)}`
    try {
      writeFileSync(pathOf(records, name), '', { flag: 'wx', mode: 0o600 })
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

export function writeRecord(records: string, name: string, record: JobRecord): void {
  writeFileSync(pathOf(records, name), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

/** Undefined for names that no job over ssh has; throws where such a job was not started from here, or has ended. */
export function readRecord(records: string, name: string): JobRecord | undefined {
  if (!/^JOB\d+$/.test(name)) return undefined
  const record = findRecord(records, name)
  if (record && !record.end) return record
  throw noSuchJob(
    name,
    listRecords(records)
      .filter(({ end }) => !end)
      .map((each) => each.name),
  )
}

/** Also of a job that is over. */
export function findRecord(records: string, name: string): JobRecord | undefined {
  try {
    return JSON.parse(readFileSync(pathOf(records, name), 'utf8')) as JobRecord
  } catch {
    return undefined // none, or of a job that is only about to start
  }
}

export function listRecords(records: string): readonly (JobRecord & { readonly name: string })[] {
  if (!existsSync(records)) return []
  const names = readdirSync(records).map((file) => file.replace(/\.json$/, ''))
  return names.flatMap((name) => {
    const record = findRecord(records, name)
    return record ? [{ ...record, name }] : []
  })
}

const KEPT_ENDED = 200

/** How it ended stays known; of very many the oldest are forgotten. */
export function endRecord(records: string, name: string, end: JobEnd): void {
  const record = findRecord(records, name)
  if (record) writeRecord(records, name, { ...record, end })
  const ended = listRecords(records).filter((each) => each.end)
  for (const old of ended.slice(0, -KEPT_ENDED)) rmSync(pathOf(records, old.name), { force: true })
}

/** When it was started, by its name. */
export function startOf(name: string): number {
  const [, year, ...rest] = /^JOB(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(name) ?? []
  const [month = 1, day = 1, hours = 0, minutes = 0, seconds = 0] = rest.map(Number)
  return new Date(Number(year), month - 1, day, hours, minutes, seconds).getTime()
}

const pathOf = (records: string, name: string) => join(records, `${name}.json`)

function stamp(now: Date): string {
  const parts = [now.getMonth() + 1, now.getDate(), now.getHours(), now.getMinutes(), now.getSeconds()]
  return [now.getFullYear(), ...parts.map((part) => String(part).padStart(2, '0'))].join('')
}

export interface StopJobOptions extends OpenHostsOptions {
  readonly job: string
  readonly record: JobRecord
  readonly records: string
  readonly stopMs: number
  readonly say: (line: string) => void
}

/** Ends it wherever it can be reached; then throws where it cannot, and the job stays known for another try. */
export async function stopJob({ job, record, records, stopMs, say, ...options }: StopJobOptions): Promise<void> {
  writeRecord(records, job, { ...record, isStopping: true })
  const opened = await Promise.allSettled(record.hosts.map(async (host) => await openHosts([host], options)))
  const reached = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const reasons = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  try {
    const ended = reached.map(() => 0)
    // On all hosts first the workers: to save they need their servers.
    for (const role of ['worker', 'server'] as const) {
      const stop = async ({ all: [host] }: Hosts, i: number) => {
        const { stopped } = await host!.ask('stop', { job, role, folder: record.folder, stopMs })
        ended[i]! += stopped.length
      }
      const answers = await Promise.allSettled(reached.map(stop))
      reasons.push(...answers.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : [])))
    }
    for (const [i, { all }] of reached.entries())
      say(`${all[0]!.host.name}: ${ended[i] === 1 ? '1 process' : `${ended[i]} processes`} ended`)
  } finally {
    await Promise.all(reached.map(async ({ close }) => await close()))
  }
  const unexpected = reasons.find((reason) => !isUserError(reason))
  if (unexpected !== undefined) throw unexpected
  if (reasons.length > 0) throw together(reasons as UserError[])
  endRecord(records, job, { phase: 'stopped', at: Date.now() })
}
