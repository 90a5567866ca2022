/** @file The job server in Prometheus' text format, at a port of its own: jobs by phase and group, quotas, the queue. Read from the store when it is asked for. */
import { serveMetrics } from '../../base/runs/index.ts'
import { isOver } from '../submit/index.ts'
import type { Accounts } from './accounts.ts'
import { heldBy } from './admission.ts'
import type { CloudJob, Store } from './store.ts'

export interface JobMetricsOptions {
  readonly host: string
  readonly port: number
  readonly store: Pick<Store, 'jobs'>
  /** Throws while they cannot be read. */
  readonly accounts: () => Accounts
  readonly executor: string
}

export async function openJobMetrics({ host, port, store, accounts, executor }: JobMetricsOptions) {
  const { Gauge, Registry } = await import('prom-client')
  const registry = new Registry()
  const gauge = (name: string, help: string, labelNames: readonly string[], values: () => readonly Value[]) =>
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset()
        for (const { value, ...labels } of values()) this.set(labels, value)
      },
    })
  const groups = () => Object.entries(groupsOf(accounts))
  const jobs = () => [...store.jobs.values()]
  gauge('oarfish_jobs', 'Jobs that the server knows, by phase and group.', ['phase', 'group'], () => counted(jobs()))
  gauge('oarfish_group_nodes_held', 'Nodes that the jobs of a group hold.', ['group'], () =>
    groups().map(([group]) => ({ group, value: heldBy(group, jobs()) })),
  )
  gauge('oarfish_group_nodes_quota', 'Nodes that the jobs of a group may hold.', ['group'], () =>
    groups().map(([group, { quota }]) => ({ group, value: quota })),
  )
  gauge(
    'oarfish_queue_oldest_seconds',
    'How long the job waits that has waited longest; 0 where none does.',
    [],
    () => [{ value: longestWait(jobs(), Date.now()) }],
  )
  gauge(
    'oarfish_jobs_run_seconds',
    'How long the jobs under way have been so, the longest of each group.',
    ['group'],
    () => longestRuns(jobs(), Date.now()),
  )
  return await serveMetrics(registry, { host, port, labels: { executor } })
}

const PHASES = [
  'uploading',
  'queued',
  'starting',
  'running',
  'succeeded',
  'failed',
  'stopped',
] as const satisfies CloudJob['phase'][]

type Value = Readonly<Record<string, string | number>> & { readonly value: number }

/** Every phase of every group that has jobs, also those without any: a line that ends is no zero. */
function counted(jobs: readonly CloudJob[]): Value[] {
  const groups = [...new Set(jobs.map(({ request }) => request.group))]
  return groups.flatMap((group) =>
    PHASES.map((phase) => {
      const own = jobs.filter((job) => job.phase === phase && job.request.group === group)
      return { phase, group, value: own.length }
    }),
  )
}

const seconds = (ms: number) => Math.max(0, ms / 1000)

function longestWait(jobs: readonly CloudJob[], nowMs: number): number {
  const waiting = jobs.filter(({ phase }) => phase === 'queued').map(({ changedAt }) => seconds(nowMs - changedAt))
  return Math.max(0, ...waiting)
}

function longestRuns(jobs: readonly CloudJob[], nowMs: number): Value[] {
  const running = jobs.filter(({ phase }) => phase !== 'queued' && phase !== 'uploading' && !isOver(phase))
  const groups = [...new Set(running.map(({ request }) => request.group))]
  return groups.map((group) => {
    const own = running.filter(({ request }) => request.group === group)
    return { group, value: Math.max(...own.map(({ changedAt }) => seconds(nowMs - changedAt))) }
  })
}

/** While they cannot be read nothing is said of groups; the server's log tells why. */
function groupsOf(accounts: () => Accounts): Accounts['groups'] {
  try {
    return accounts().groups
  } catch {
    return {}
  }
}
