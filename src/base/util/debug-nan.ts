/** @file Whether every value of every step is looked at (`--debug-nan`): a setting of the process that its threads inherit. */
import { getEnvironmentData } from 'node:worker_threads'
import { shareWithThreads } from './threads.ts'

const KEY = 'oarfish.debug-nan'

/** For this process and the threads that it starts from now on. */
export function setDebugNan(on: boolean): void {
  shareWithThreads(KEY, on)
}

export function isDebugNan(): boolean {
  return getEnvironmentData(KEY) === true
}
