/** @file What nodes on other hosts print, each line with the name of its log: put where the job's logs are. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAILURE, untagged } from '../agent/index.ts'
import { addFailure, jobFolder } from './job-folder.ts'

export function keepLine(folder: string, line: string): void {
  const { log, text } = untagged(line)
  if (log === FAILURE) addFailure(folder, text)
  appendFileSync(join(jobFolder(folder).logs, `${log === FAILURE ? 'job' : log}.log`), `${text}\n`)
}
