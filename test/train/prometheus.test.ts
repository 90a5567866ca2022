/** @file Metrics by Prometheus' own rules (promtool, where Debian's prometheus is), and a Grafana dashboard that asks for nothing else. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { batch, epoch, START } from '../../src/base/event/example.testing.ts'
import { openMetrics } from '../../src/base/runs/metrics-port.ts'
import { type CloudJob, openJobMetrics } from '../../src/jobs/server/index.ts'

async function metricsText(): Promise<string> {
  const metrics = await openMetrics({ host: '127.0.0.1', port: 0, labels: { run: 'x', role: 'worker', rank: '1' } })
  try {
    const links = [{ to: 'server-0', sentBytesPerSecond: 1, receivedBytesPerSecond: 2, answerSeconds: 3, busy: 0 }]
    const norms = { weights: 1, gradients: 2, rows: 3, rowGradients: 4 }
    const step = { learningRate: 0.1, staleness: 1.5, norms, links }
    const sizes = { table: 'embedding', memoryRows: 1, memoryBytes: 2, diskRows: 3, diskBytes: 4 }
    const tables = { kind: 'tables', tables: [sizes] } as const
    const measured = { metrics: { loss: 0.5, auc: 0.7 }, breakdown: { run: 0.1 }, ...step }
    for (const event of [START, batch(measured), tables, epoch({ phase: 'infer', metrics: { auc: 0.7 } })])
      metrics.add(event)
    return await (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text()
  } finally {
    metrics.close()
  }
}

/** Two jobs of a group with a quota of three nodes. */
async function jobMetricsText(): Promise<string> {
  const job = (id: string, phase: CloudJob['phase']) => {
    const request = { group: 'ctr', kind: 'PS_CPU_MPI', roles: [{ replicas: 1 }] } as unknown as CloudJob['request']
    return [id, { id, user: 'alice', request, submittedAt: 0, phase, changedAt: Date.now() - 5000 }] as const
  }
  const store = { jobs: new Map<string, CloudJob>([job('a', 'running'), job('b', 'queued')]) }
  const accounts = () => ({ users: {}, groups: { ctr: { quota: 3, priorities: [] } } })
  const metrics = await openJobMetrics({ host: '127.0.0.1', port: 0, store, accounts, executor: 'local' })
  try {
    return await (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text()
  } finally {
    metrics.close()
  }
}

test('a job server tells of its jobs, its queue and its quotas', async () => {
  const text = await jobMetricsText()
  expect(text).toContain('oarfish_jobs{phase="running",group="ctr",executor="local"} 1')
  expect(text).toContain('oarfish_jobs{phase="failed",group="ctr",executor="local"} 0')
  expect(text).toContain('oarfish_group_nodes_quota{group="ctr",executor="local"} 3')
  expect(Number(/^oarfish_queue_oldest_seconds\{.*\} (.*)$/m.exec(text)![1])).toBeGreaterThanOrEqual(5)
  expect(text).toMatch(/^process_resident_memory_bytes\{executor="local"\} \d/m)
})

test('the Grafana dashboard asks only for metrics and labels that there are', async () => {
  const text = await metricsText()
  const dashboard = readFileSync('deploy/grafana/oarfish.json', 'utf8')
  const { panels, templating } = JSON.parse(dashboard) as {
    panels: { title: string; targets: { expr: string }[] }[]
    templating: { list: { definition?: string }[] }
  }
  const asked = [
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...templating.list.flatMap(({ definition }) => definition ?? []),
  ]
  const names = new Set(asked.flatMap((expr) => expr.match(/\b(oarfish|process|nodejs)_\w+/g) ?? []))
  expect(names.size).toBeGreaterThan(8)
  for (const name of names) expect(text, name).toMatch(new RegExp(`^${name}\\{`, 'm'))
  const labels = new Set(asked.flatMap((expr) => [...expr.matchAll(/[{,](\w+)=/g)].map(([, label]) => label!)))
  for (const label of labels) expect(text, label).toMatch(new RegExp(`^oarfish_\\w+\\{[^}]*\\b${label}="`, 'm'))
  // What there is of a run's own is shown, too; the lag only where a run reads a stream.
  const own = new Set([...text.matchAll(/^# TYPE (oarfish_\w+) /gm)].map(([, name]) => name!))
  expect([...own].filter((name) => !names.has(name)).sort()).toEqual(['oarfish_batches_total', 'oarfish_stream_lag'])
})

const PROMTOOL = process.env['OARFISH_TEST_PROMTOOL'] ?? 'promtool'
const hasPromtool = spawnSync(PROMTOOL, ['--version']).status === 0

describe.skipIf(!hasPromtool)("promtool of Debian's package prometheus", () => {
  test('finds nothing to say about names, units and help', async () => {
    for (const input of [await metricsText(), await jobMetricsText()]) {
      const { status, stderr, stdout } = spawnSync(PROMTOOL, ['check', 'metrics'], { input, encoding: 'utf8' })
      expect([status, stderr, stdout]).toEqual([0, '', ''])
    }
  })
})
