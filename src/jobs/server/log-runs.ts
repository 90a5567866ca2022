/** @file Runs of jobs whose nodes share no disk with this server: made of what their trainers print, while somebody looks. */
import { closeSync, readSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readPaddleLine } from '../../base/event/index.ts'
import { findRuns, type LogOf, LogRun, type RunRole } from '../../base/runs/index.ts'
import { jobFolder } from '../executors/index.ts'
import type { ServerOptions } from './access.ts'
import { openOfJob } from './open-of-job.ts'
import type { CloudJob } from './store.ts'

type Store = ServerOptions['store']

export interface LogRuns {
  /** Where the run of a job is, if there is one. Nobody but the server writes there. */
  readonly folderOf: (job: string) => string
  /** Reads on in the logs of the job. */
  readonly refresh: (job: string) => void
  readonly close: () => void
}

const MOMENT_MS = 1000
const PIECE_BYTES = 16 << 20
const MOST_OPEN = 100
const STATES = { succeeded: 'done', failed: 'failed', stopped: 'stopped' } as const

interface Followed {
  readonly run: LogRun
  readonly positions: Map<string, number>
}

export function openLogRuns(store: Store): LogRuns {
  const followed = new Map<string, Followed>()
  const lookedAt = new Map<string, number>()
  const all = join(dirname(dirname(store.folderOf('any'))), 'from-logs')
  rmSync(all, { recursive: true, force: true })
  const folderOf = (job: string) => join(all, job)
  const forget = (job: string) => {
    followed.get(job)?.run.close()
    followed.delete(job)
    lookedAt.delete(job)
  }
  const refresh = (id: string) => {
    const job = store.jobs.get(id)
    if (!job || performance.now() - (lookedAt.get(id) ?? Number.NEGATIVE_INFINITY) < MOMENT_MS) return
    lookedAt.set(id, performance.now())
    const folder = store.folderOf(id)
    // Its own record says more.
    if (findRuns([jobFolder(folder).work]).length > 0) return
    const known = followed.get(id)
    const positions = known?.positions ?? new Map<string, number>()
    const logs = logsOf(job, folder, positions)
    if (!known && !logs.some(hasBatch)) return
    const own = known ?? { run: new LogRun({ folder: join(folderOf(id), 'runs/logs'), meta: metaOf(job) }), positions }
    own.run.add(logs, STATES[job.phase as keyof typeof STATES] ?? 'running')
    followed.set(id, own)
    if (followed.size > MOST_OPEN) forget([...followed.keys()][0]!)
  }
  const close = () => {
    for (const job of [...followed.keys()]) forget(job)
  }
  return { folderOf, refresh, close }
}

const hasBatch = ({ text }: LogOf) =>
  text.split('\n').some((line) => line.includes(', batch_id: ') && readPaddleLine(line)?.event.kind === 'batch')

const metaOf = ({ request, submittedAt }: CloudJob) => ({
  ...{ name: request.name, model: request.name, createdAt: submittedAt, oarfish: '' },
  command: [request.command],
})

/** What the logs of trainers have grown by; positions move along. */
function logsOf({ request }: CloudJob, folder: string, positions: Map<string, number>): readonly LogOf[] {
  const trainers = request.roles.find(({ name }) => name === 'trainer')?.replicas ?? 0
  const role: RunRole = request.roles.length > 1 ? 'worker' : trainers > 1 ? 'rank' : 'local'
  return Array.from({ length: trainers }, (_, rank) => {
    const path = join(jobFolder(folder).logs, `trainer.${rank}.log`)
    const from = positions.get(path) ?? 0
    const bytes = readFrom(folder, path, from)
    const end = bytes.lastIndexOf(10) + 1
    positions.set(path, from + end)
    return { role, rank, text: bytes.subarray(0, end).toString('utf8') }
  })
}

function readFrom(folder: string, path: string, from: number): Buffer {
  const opened = openOfJob(folder, path)
  if (!opened) return Buffer.alloc(0)
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(PIECE_BYTES, opened.bytes - from)))
    return buffer.subarray(0, readSync(opened.fd, buffer, 0, buffer.length, from))
  } finally {
    closeSync(opened.fd)
  }
}
