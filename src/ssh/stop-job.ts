/** @file Ending a job whose launcher is gone. */
import { isUserError, type UserError } from '../util/index.ts'
import { together } from './errors.ts'
import { type Hosts, type OpenHostsOptions, openHosts } from './open-hosts.ts'
import { type JobRecord, removeRecord } from './record.ts'

export interface StopJobOptions extends OpenHostsOptions {
  readonly job: string
  readonly record: JobRecord
  readonly records: string
  readonly stopMs: number
  readonly say: (line: string) => void
}

/** Ends it wherever it can be reached; then throws where it cannot, and the job stays known for another try. */
export async function stopJob({ job, record, records, stopMs, say, ...options }: StopJobOptions): Promise<void> {
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
    for (const [i, { all }] of reached.entries()) say(`${all[0]!.host.name}: ${ended[i]} processes ended`)
  } finally {
    await Promise.all(reached.map(async ({ close }) => await close()))
  }
  const unexpected = reasons.find((reason) => !isUserError(reason))
  if (unexpected !== undefined) throw unexpected
  if (reasons.length > 0) throw together(reasons as UserError[])
  removeRecord(records, job)
}
