/** @file Jobs that were started from here and have not ended: what `oarfish stop` needs to find them again. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { noSuchJob } from './errors.ts'
import type { SshHost } from './host.ts'

export interface JobRecord {
  readonly hosts: readonly SshHost[]
  /** On each of them. */
  readonly folder: string
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
  try {
    return JSON.parse(readFileSync(pathOf(records, name), 'utf8')) as JobRecord
  } catch {
    throw noSuchJob(name, knownJobs(records))
  }
}

function knownJobs(records: string): readonly string[] {
  if (!existsSync(records)) return []
  return readdirSync(records).map((file) => file.replace(/\.json$/, ''))
}

export function removeRecord(records: string, name: string): void {
  rmSync(pathOf(records, name), { force: true })
}

const pathOf = (records: string, name: string) => join(records, `${name}.json`)

function stamp(now: Date): string {
  const parts = [now.getMonth() + 1, now.getDate(), now.getHours(), now.getMinutes(), now.getSeconds()]
  return [now.getFullYear(), ...parts.map((part) => String(part).padStart(2, '0'))].join('')
}
