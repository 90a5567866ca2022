/** @file Jobs over ssh that were started from here, by `oarfish cluster` or `fleetrun --hosts`: as `oarfish jobs | status | logs` show them. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { JobSummary } from '../jobs/server/index.ts'
import type { JobRecord } from '../jobs/ssh/index.ts'
import type { CliIo } from './io.ts'
import type { JobClient } from './local-jobs.ts'
import { jobRecords, sshOptions } from './ssh-options.ts'

export const isClusterJob = (id: string) => /^JOB\d+$/.test(id)

export async function clusterJobs(io: CliIo): Promise<readonly JobSummary[]> {
  const records = jobRecords(io)
  if (!existsSync(records)) return []
  const { listRecords, startOf } = await import('../jobs/ssh/index.ts')
  return listRecords(records).map((record) => summaryOf(record.name, record, startOf(record.name)))
}

/** `oarfish stop` ends them in its own way, and never asks this for it. */
export function clusterClient(io: CliIo): JobClient {
  const info = async (id: string) => {
    const { startOf } = await import('../jobs/ssh/index.ts')
    return summaryOf(id, await recordOf(id, io), startOf(id))
  }
  return {
    info,
    stop: info,
    list: async () => ({ total: 0, jobs: [] }),
    logs: async function* (id, { role, rank, follow }) {
      const { findRecord, jobLogs } = await import('../jobs/ssh/index.ts')
      const isOver = () => !follow || findRecord(jobRecords(io), id)?.end !== undefined
      const options = { ...(await sshOptions(io)), emit: () => undefined }
      yield* jobLogs({ ...options, record: await recordOf(id, io), role, rank, isOver })
    },
  }
}

async function recordOf(id: string, io: CliIo): Promise<JobRecord> {
  const { findRecord, noSuchJob } = await import('../jobs/ssh/index.ts')
  const record = findRecord(jobRecords(io), id)
  if (record) return record
  const known = await clusterJobs(io)
  throw noSuchJob(
    id,
    known.map(({ jobId }) => jobId),
  )
}

function summaryOf(id: string, { hosts, folder, end }: JobRecord, submittedAt: number): JobSummary {
  return {
    ...{ jobId: id, name: basename(folder), group: '-', priority: 'high', kind: 'SSH' as never },
    ...{ phase: end?.phase ?? 'running', submittedAt, changedAt: end?.at ?? submittedAt },
    reason: end?.reason ?? `on ${hosts.map(({ name }) => name).join(', ')}: ${folder}`,
  }
}
