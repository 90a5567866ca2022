/** @file A job of a server, or of a user's own machine, on Kubernetes: submitted once, then followed; a follower that was killed is replaced by another. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import {
  applyJob,
  connectKube,
  deleteJob,
  followJob,
  type KubeClient,
  type KubeJob,
  type RenderOptions,
} from '../kube/index.ts'
import type { Job } from '../submit/index.ts'
import { jobFolder, jobOfFolder, writeStatus, writeWhole } from './job-folder.ts'

export interface SubmitPodsOptions {
  readonly folder: string
  readonly env: Env
  /** Of this package. */
  readonly version: string
  /** Where jobs lie, whatever they say. */
  readonly namespace?: string | undefined
  /** In place of the job's own name. */
  readonly name?: string | undefined
  /** Delete a job of the same name first. */
  readonly replace?: boolean
  readonly say: (line: string) => void
}

/** What the folder remembers of a job on the cluster. */
interface Submitted extends KubeJob {
  readonly kubeconfig?: string | undefined
  readonly context: string
}

const fileOf = (folder: string) => join(folder, 'kubernetes.json')

/** Resolves when the cluster has the job. */
export async function submitPods(options: SubmitPodsOptions): Promise<void> {
  const { folder, env, namespace, replace = false, say } = options
  const job = jobOfFolder(folder)
  const client = await connectKube({ env, namespace: namespace ?? job.pods?.namespace })
  const render = renderOptions(job, options)
  const made = await applyJob({ client, render, replace, say })
  const kubeconfig = env['KUBECONFIG']
  const submitted: Submitted = { ...made, context: client.context, kubeconfig }
  writeWhole(fileOf(folder), submitted)
}

/** The objects of a job, as submitPods would make them. */
export function renderOptions(
  job: Job,
  { env, version, name }: Pick<SubmitPodsOptions, 'env' | 'version' | 'name'>,
): RenderOptions {
  return {
    ...{ job, version, name },
    files: job.files.map((file) => ({ name: file.name, content: contentOf(file) })),
    token: randomBytes(32).toString('hex'),
    fsUgi: env['OARFISH_FS_UGI'],
  }
}

function contentOf({ content }: Job['files'][number]): Buffer {
  if ('path' in content) return readFileSync(content.path)
  return 'text' in content ? Buffer.from(content.text) : Buffer.from(content.base64, 'base64')
}

export interface RunPodsOptions extends Omit<SubmitPodsOptions, 'say' | 'replace'> {
  readonly emit: EventSink
  /** Ends the job, not only following it. */
  readonly signal: AbortSignal
}

/** Exit code 0 or 1, or undefined for a job that was stopped. */
export async function runPods(options: RunPodsOptions): Promise<number | undefined> {
  const { folder, env, emit, signal } = options
  const say = (message: string) => emit({ kind: 'notice', message })
  // Under a name that is this job's alone, what is there already is what a supervisor before this one had begun.
  if (!existsSync(fileOf(folder))) await submitPods({ ...options, name: uniqueName(folder, env), replace: true, say })
  const submitted = JSON.parse(readFileSync(fileOf(folder), 'utf8')) as Submitted
  const client = await clientOf(submitted, env)
  const outcome = await followJob({
    ...{ client, signal, say, job: submitted, logs: jobFolder(folder).logs },
    onStatus: (status) => writeStatus(folder, status),
  })
  if (!outcome) {
    await deleteJob(client, submitted)
    return undefined
  }
  const { phase, reason } = outcome
  if (phase === 'failed') emit({ kind: 'error', code: 'KUBE_JOB', message: reason ?? 'The job failed.' })
  else if (reason !== undefined) say(reason)
  return phase === 'stopped' ? undefined : phase === 'succeeded' ? 0 : 1
}

/** Jobs of a server may have the same name: the end of their ids keeps them apart. */
const uniqueName = (folder: string, env: Env) =>
  `${jobOfFolder(folder).name}-${(env['OARFISH_JOB_ID'] ?? randomBytes(4).toString('hex')).slice(-8)}`

async function clientOf({ kubeconfig, context, namespace }: Submitted, env: Env): Promise<KubeClient> {
  // Whoever follows a job later may have another kubeconfig in the environment.
  return await connectKube({ env, kubeconfig, namespace, context: kubeconfig === undefined ? undefined : context })
}
