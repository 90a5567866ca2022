/** @file Jobs on Kubernetes: submitted once, then followed; a follower that was killed is replaced by another. Manifests are kube/'s. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../../base/env/index.ts'
import {
  applyJob,
  connectKube,
  deleteJob,
  followJob,
  type KubeClient,
  type KubeJob,
  type LoadedFile,
  planObjects,
} from '../kube/index.ts'
import { bytesOfContent } from '../submit/index.ts'
import type { ApplyContext, Executor, SubmitContext } from './executor.ts'
import { jobFolder, readStatus, writeStatus, writeWhole } from './job-folder.ts'
import type { CreateStep, Plan } from './plan.ts'

export interface KubernetesFacts {
  /** Of this package: names the image where the job does not. */
  readonly version: string
  readonly files: readonly LoadedFile[]
  /** In place of the job's own name: one that no other job has. */
  readonly name: string | undefined
  readonly hasFsUgi: boolean
}

/** In place of every secret, until the plan is applied. */
const HIDDEN = '***'

export const kubernetes: Executor<KubernetesFacts> = {
  kinds: ['_K8S'],
  atOnce: Number.POSITIVE_INFINITY,
  resumes: true,
  runsElsewhere: true,
  // A server that cannot reach its cluster says so when it is started, not when the first job comes.
  check: async ({ env, namespace }) => void (await (await connectKube({ env, namespace })).get('/version')),
  lookUp: async (job, { env, version, isServed = false }) => ({
    version,
    files: job.files.map(({ name, content }) => ({ name, content: bytesOfContent(content) })),
    name: isServed ? `${job.name}-${(env['OARFISH_JOB_ID'] ?? randomBytes(4).toString('hex')).slice(-8)}` : undefined,
    hasFsUgi: env['OARFISH_FS_UGI'] !== undefined,
  }),
  plan: ({ job }, { hasFsUgi, ...facts }) => {
    const secrets = { token: HIDDEN, fsUgi: hasFsUgi ? HIDDEN : undefined }
    return { steps: [{ kind: 'create', objects: planObjects({ ...facts, ...secrets, job }) }] }
  },
  submit: submitPods,
  isSubmitted: (folder) => existsSync(fileOf(folder)),
  apply: async (plan, context) => {
    const { folder, emit } = context
    const say = (message: string) => emit({ kind: 'notice', message })
    // Under a name that is this job's alone, what is there already is what a supervisor before this one had begun.
    if (!existsSync(fileOf(folder))) await submitPods(plan, { ...context, replace: true, say })
    return await followPods(context, say)
  },
}

/** What the folder remembers of a job on the cluster. */
interface Submitted extends KubeJob {
  readonly kubeconfig?: string | undefined
  readonly context: string
}

const fileOf = (folder: string) => join(folder, 'kubernetes.json')

/** Resolves when the cluster has the job. */
async function submitPods({ steps }: Plan, { job, folder, env, namespace, replace, say }: SubmitContext) {
  const { objects } = steps[0] as CreateStep
  const client = await connectKube({ env, namespace: namespace ?? job.pods?.namespace })
  const secrets = { OARFISH_RUN_TOKEN: randomBytes(32).toString('hex'), OARFISH_FS_UGI: env['OARFISH_FS_UGI'] }
  const made = await applyJob({ client, objects, secrets, replace, say })
  const submitted: Submitted = { ...made, context: client.context, kubeconfig: env['KUBECONFIG'] }
  writeWhole(fileOf(folder), submitted)
}

/** Exit code 0 or 1, or undefined for a job that was stopped. The signal ends the job, not only following it. */
async function followPods({ folder, env, emit, signal }: ApplyContext, say: (line: string) => void) {
  const submitted = JSON.parse(readFileSync(fileOf(folder), 'utf8')) as Submitted
  const client = await clientOf(submitted, env)
  const outcome = await followJob({
    client,
    signal,
    say,
    job: submitted,
    logs: jobFolder(folder).logs,
    restarts: readStatus(folder)?.restarts,
    onStatus: (status) => writeStatus(folder, status),
    end: async () => await deleteJob(client, submitted),
  })
  if (!outcome) return undefined
  const { phase, reason } = outcome
  if (phase === 'failed') emit({ kind: 'error', code: 'KUBE_JOB', message: reason ?? 'The job failed.' })
  else if (reason !== undefined) say(reason)
  return phase === 'stopped' ? undefined : phase === 'succeeded' ? 0 : 1
}

async function clientOf({ kubeconfig, context, namespace }: Submitted, env: Env): Promise<KubeClient> {
  // Whoever follows a job later may have another kubeconfig in the environment.
  return await connectKube({ env, kubeconfig, namespace, context: kubeconfig === undefined ? undefined : context })
}
