/** @file Ending a job whose launcher is gone. */
import { everyHost, type OpenHostsOptions, openHosts } from './open-hosts.ts'
import { type JobRecord, removeRecord } from './record.ts'

export interface StopJobOptions extends OpenHostsOptions {
  readonly job: string
  readonly record: JobRecord
  readonly records: string
  readonly stopMs: number
}

/** How many processes were ended, on each host. */
export async function stopJob({
  job,
  record,
  records,
  stopMs,
  ...options
}: StopJobOptions): Promise<readonly string[]> {
  const hosts = await openHosts(record.hosts, options)
  try {
    const ended = hosts.all.map(() => 0)
    for (const role of ['worker', 'server'] as const) {
      const request = { job, role, folder: record.folder, stopMs }
      const answers = await everyHost(hosts.all.map(async (host) => await host.ask('stop', request)))
      for (const [i, { stopped }] of answers.entries()) ended[i]! += stopped.length
    }
    removeRecord(records, job)
    return hosts.all.map(({ host }, i) => `${host.name}: ${ended[i]} processes ended`)
  } finally {
    await hosts.close()
  }
}
