/** @file What the rest of a job does when one of its processes is gone. */
import { expect } from 'vitest'
import { expectWithin } from '../within.testing.ts'
import type { Job } from './job.testing.ts'

/** After `name` was killed or silenced at `since`: all others end with a failure, within 5 s and a moment, and say who it was. */
export async function othersEnd(job: Job, name: string, since: number, message: RegExp): Promise<void> {
  for (const other of job.processes.filter((one) => one.name !== name)) {
    expect(await other.ended, `${other.name}: ${other.err}`).toBe(1)
    await expectWithin(Date.now() - since, 5500, other.name)
    const failure = other.events.find(({ kind }) => kind === 'failed')
    expect(failure?.['message'], other.name).toMatch(message)
  }
}
