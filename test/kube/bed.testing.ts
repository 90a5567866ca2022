/** @file What tests on a testbed share: jobs, users, and a job from its submission to its end. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { supervisorOf } from '../../src/jobs/executors/index.ts'
import {
  applyJob,
  connectKube,
  deleteJob,
  followJob,
  type KubeClient,
  type KubeJob,
  type KubeObject,
  type KubeOutcome,
  planObjects,
} from '../../src/jobs/kube/index.ts'
import type { Job, JobStatus, PodSettings } from '../../src/jobs/submit/index.ts'
import { startTestbed, type Testbed } from './testbed.testing.ts'

export interface Bed {
  readonly testbed: Testbed
  readonly folder: string
  /** Submits and follows; `during` is given the lines that are said as they come. */
  run(client: KubeClient, job: Job, during?: During, signal?: AbortSignal): Promise<Ran>
  /** A kubeconfig for another user. */
  kubeconfigOf(name: string, token: string): string
  asUser(name: string, token: string, namespace: string): Promise<KubeClient>
  close(): Promise<void>
}

type During = (said: readonly string[]) => Promise<void>

interface Ran {
  readonly outcome: KubeOutcome | undefined
  readonly lines: readonly string[]
  readonly job: KubeJob
  /** The last that was seen of it. */
  readonly status: JobStatus | undefined
  /** The folder of its logs. */
  readonly logs: string
}

export async function openBed(): Promise<Bed> {
  const testbed = await startTestbed()
  const folder = mkdtempSync(join(tmpdir(), 'kube-'))
  const kubeconfigOf: Bed['kubeconfigOf'] = (name, token) => {
    const config = JSON.parse(readFileSync(testbed.kubeconfig, 'utf8'))
    config.users[0].user = { token }
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify(config))
    return file
  }
  return {
    ...{ testbed, folder, kubeconfigOf },
    run: async (client, job, during, signal = AbortSignal.timeout(200_000)) => {
      const lines: string[] = []
      const say = (line: string) => void lines.push(line)
      const made = await applyJob({ client, objects: planObjects(renderOf(job)), replace: true, say })
      const logs = mkdtempSync(join(folder, 'logs-'))
      let status: JobStatus | undefined
      const onStatus = (now: JobStatus) => {
        status = now
      }
      const end = async () => await deleteJob(client, made)
      const following = followJob({ client, job: made, logs, say, signal, onStatus, end })
      await during?.(lines)
      return { outcome: await following, lines, job: made, status, logs }
    },
    asUser: async (name, token, namespace) =>
      await connectKube({ env: { KUBECONFIG: kubeconfigOf(name, token) }, namespace }),
    close: async () => {
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
        if (basename(file) === 'started') endSupervisor(join(folder, dirname(file)))
      await testbed.down()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Of a job that a failed test has left behind. */
function endSupervisor(job: string): void {
  const supervisor = supervisorOf(job)
  if (supervisor?.alive) process.kill(supervisor.pid, 'SIGKILL')
}

export const renderOf = (job: Job) => ({ job, files: [], version: '0', token: 't' })

/** A job of two servers and two trainers of one core each. */
export function jobOf(name: string, change: Partial<Job> = {}, pods: Partial<PodSettings> = {}): Job {
  const resources = { cpu: 1, memory: '1Gi' }
  return {
    ...{ name, group: 'default', priority: 'high', kind: 'PS_CPU_K8S', command: 'oarfish run -m config.yaml' },
    roles: [
      { name: 'pserver', replicas: 2, resources },
      { name: 'trainer', replicas: 2, resources },
    ],
    ...{ env: {}, files: [], data: {}, secrets: { profile: '', env: [] } },
    pods: { framework: 'volcano', ...pods },
    ...change,
  }
}

type Template = { metadata?: { labels?: Record<string, string>; annotations?: object } }

/** What pods of a role do, on nodes that only pretend: `testbed/outcome` and the like. */
export function pretending(
  client: KubeClient,
  role: string,
  annotations: Readonly<Record<string, string>>,
): KubeClient {
  const create: KubeClient['create'] = async (object, options) => {
    const changed = structuredClone(object)
    for (const template of templatesOf(changed))
      if (template.metadata?.labels?.['oarfish.dev/role'] === role) template.metadata.annotations = annotations
    return await client.create(changed, options)
  }
  return { ...client, create }
}

function templatesOf(object: KubeObject): readonly Template[] {
  const { spec } = object as { spec?: { tasks?: { template: Template }[]; template?: Template } }
  return [...(spec?.tasks?.map(({ template }) => template) ?? []), ...(spec?.template ? [spec.template] : [])]
}

/** A node that pretends, with these amounts beside the usual. */
export const nodeOf = (name: string, more: Readonly<Record<string, string>>) => {
  const amounts = { cpu: '4', memory: '16Gi', pods: '20', ...more }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, annotations: { 'kwok.x-k8s.io/node': 'fake' } },
    status: { allocatable: amounts, capacity: amounts },
  }
}
