/** @file What a running job is, for commands run from the same folder: `job.json` in the folder of the logs. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface JobFile {
  readonly jobId?: string | undefined
  /** Only where the launcher made it up: otherwise whoever started the job knows it. */
  readonly token?: string | undefined
  readonly servers: readonly string[]
  readonly workerNum: number
  /** The socket of its launcher, where its number of workers may change. */
  readonly joins?: string | undefined
}

const NAME = 'job.json'

/** Readable by the user who started the job alone, since it holds the job's secret. Returns how to remove it. */
export function writeJobFile(logDir: string, job: JobFile): () => void {
  const path = join(logDir, NAME)
  rmSync(path, { force: true })
  writeFileSync(path, `${JSON.stringify(job, null, 2)}\n`, { mode: 0o600 })
  return () => rmSync(path, { force: true })
}

/** Undefined where no job runs. */
export function readJobFile(logDir: string): JobFile | undefined {
  try {
    return JSON.parse(readFileSync(join(logDir, NAME), 'utf8')) as JobFile
  } catch {
    return undefined
  }
}
