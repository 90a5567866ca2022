/** @file Submission: everything is checked by the cluster before anything is made, and what was half made is taken back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../base/util/index.ts'
import type { KubeClient, KubeObject } from './client.ts'
import { KubeError } from './errors.ts'
import { JOB_RESOURCES, jobSelection, type KubeJob } from './follow.ts'
import { RESOURCES, resourceOf } from './paths.ts'
import { queueManifest } from './queue.ts'
import { type KubePlan, type Rendered, withSecrets } from './render/render.ts'

export interface ApplyOptions {
  readonly client: KubeClient
  readonly objects: KubePlan
  /** Values for the job's Secret, by name. @default as they are in the plan */
  readonly secrets?: Readonly<Record<string, string | undefined>>
  /** Delete a job of the same name first. */
  readonly replace: boolean
  readonly say: (line: string) => void
}

export async function applyJob({ client, objects, secrets = {}, replace, say }: ApplyOptions): Promise<KubeJob> {
  const rendered = withSecrets(await checked(client, objects, say), secrets)
  const job = { name: rendered.name, namespace: client.namespace, framework: rendered.framework, uids: [] }
  if (await isThere(client, job)) {
    if (!replace) throw exists(job)
    say(`Deleting the job ${job.name} that is there already.`)
    await deleteJob(client, job)
  }
  const made = await make(client, rendered)
  return { ...job, uids: made.map(({ metadata }) => metadata.uid ?? '') }
}

/** Asks the cluster to check everything and keep nothing. Without a class for its priority a job goes without one, and that is said. */
async function checked(
  client: KubeClient,
  { rendered, withoutPriority }: KubePlan,
  say: (line: string) => void,
): Promise<Rendered> {
  await checkClaim(client, rendered)
  try {
    await dryRun(client, rendered)
    return rendered
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 'KUBE_PRIORITY') throw error
    say(`${error.message} The job gets the cluster's default priority.`)
    await dryRun(client, withoutPriority)
    return withoutPriority
  }
}

async function dryRun(client: KubeClient, { support, jobs, samples }: Rendered): Promise<void> {
  const check = async (object: KubeObject) => {
    await client.create(object, { dryRun: true }).catch((error: unknown) => {
      // What is there already is refused, or taken away, afterwards.
      if (!(error instanceof KubeError) || error.code !== 'KUBE_EXISTS') throw error
    })
  }
  // A binding is checked against a role that is not there yet.
  const first = support.filter(({ kind }) => kind !== 'RoleBinding')
  await Promise.all(first.map(check))
  try {
    for (const job of jobs) await check(job)
  } catch (error) {
    throw error instanceof KubeError && error.code === 'KUBE_QUEUE' ? await withQueues(client, error) : error
  }
  for (const sample of samples) {
    const isChecked = await check(sample).then(() => true, passOver)
    if (!isChecked) return await checkPriority(client, sample)
  }
}

/** A class that is not there would keep every pod from being made, and no job is refused for it. */
async function checkPriority(client: KubeClient, sample: KubeObject): Promise<void> {
  const name = (sample as { readonly spec?: { readonly priorityClassName?: string } }).spec?.priorityClassName
  if (name === undefined) return
  await client.read(RESOURCES.PriorityClass, name).catch((error: unknown) => {
    if (!(error instanceof KubeError)) throw error
    const message = error.status === 404 ? `There is no PriorityClass ${name}.` : error.message
    throw new KubeError(error.status, message, { code: 'KUBE_PRIORITY', cause: error })
  })
}

/** Whoever may make jobs need not be allowed to make pods: then this check is left out. */
function passOver(error: unknown): false {
  if (!(error instanceof KubeError) || error.code !== 'KUBE_FORBIDDEN') throw error
  return false
}

async function withQueues(client: KubeClient, error: KubeError): Promise<UserError> {
  const queues = await client.list<KubeObject>(RESOURCES.Queue).catch(() => undefined)
  const names = queues?.items.map(({ metadata }) => metadata.name).filter((name) => name !== 'root')
  if (!names) return error
  return new UserError(error.message, {
    code: 'KUBE_QUEUE',
    hint: `submit.group names the queue: set it to ${names.join(' or ')}, or make it (deploy/kubernetes/queue.yaml, or oarfish cloud group add NAME --quota N --queue):\n${queueManifest(missingQueue(error))}`,
    cause: error,
  })
}

const missingQueue = ({ message }: KubeError) => /queue ([\w.-]*\w)/.exec(message)?.[1] ?? 'NAME'

/** Volcano would take the job, and leave its pods waiting for ever. */
async function checkClaim(client: KubeClient, { samples }: Rendered): Promise<void> {
  const volumes = (samples[0] as { spec?: { volumes?: { persistentVolumeClaim?: { claimName: string } }[] } }).spec
    ?.volumes
  const claim = volumes?.find(({ persistentVolumeClaim }) => persistentVolumeClaim)?.persistentVolumeClaim?.claimName
  if (claim === undefined) return
  await client.read(RESOURCES.PersistentVolumeClaim, claim).catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 404)
      throw new UserError(`There is no PersistentVolumeClaim ${claim} in namespace ${client.namespace}.`, {
        code: 'KUBE_CLAIM',
        hint: `Create it, or change config.afs_remote_mount_point; those that are there: kubectl -n ${client.namespace} get pvc`,
        cause: error,
      })
    passOver(error)
  })
}

async function isThere(client: KubeClient, { name, framework }: KubeJob): Promise<boolean> {
  const { items } = await client.list(JOB_RESOURCES[framework], jobSelection(name))
  return items.length > 0
}

const exists = ({ name, namespace }: KubeJob) =>
  new UserError(`There is a job ${name} in namespace ${namespace} already.`, {
    code: 'KUBE_EXISTS',
    hint: 'Replace it with --force (its pods are deleted), or give submit.job_name another name.',
  })

async function make(client: KubeClient, { support, jobs }: Rendered): Promise<readonly KubeObject[]> {
  const made: KubeObject[] = []
  try {
    for (const object of support) {
      await replaceLeftover(client, object)
      made.push(object)
    }
    const created = await Promise.all(
      jobs.map(async (job) => {
        const object = await client.create(job)
        made.push(job)
        return object
      }),
    )
    await own(client, created[0]!, [...support, ...jobs.slice(1)])
    return created
  } catch (error) {
    await Promise.allSettled(made.map(async (object) => await client.remove(resourceOf(object), object.metadata.name)))
    throw error
  }
}

/** What belongs to no job any more may have been left by one. */
async function replaceLeftover(client: KubeClient, object: KubeObject): Promise<void> {
  try {
    await client.create(object)
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 'KUBE_EXISTS') throw error
    // The cluster's garbage collector may be faster.
    await client.remove(resourceOf(object), object.metadata.name).catch(unlessGone)
    await client.create(object)
  }
}

/** With the job goes what was made for it, whoever deletes it. */
async function own(client: KubeClient, owner: KubeObject, objects: readonly KubeObject[]): Promise<void> {
  const { apiVersion, kind } = owner
  const { name, uid } = owner.metadata
  const change = { metadata: { ownerReferences: [{ apiVersion, kind, name, uid }] } }
  await Promise.all(objects.map(async (object) => await client.patch(resourceOf(object), object.metadata.name, change)))
}

const GONE_MS = 60_000
const LOOK_MS = 200

/** Deletes a job and waits until its pods are gone too. One that is not there is gone already. */
export async function deleteJob(client: KubeClient, job: KubeJob): Promise<void> {
  const resource = JOB_RESOURCES[job.framework]
  const { items } = await client.list<KubeObject>(resource, jobSelection(job.name))
  for (const { metadata } of items) await client.remove(resource, metadata.name).catch(unlessGone)
  // The cluster's garbage collector does so too, but where it has just met Volcano it may take a minute.
  const pods = await client.list<KubeObject>(RESOURCES.Pod, jobSelection(job.name))
  await Promise.all(pods.items.map(({ metadata }) => client.remove(RESOURCES.Pod, metadata.name).catch(leaveIt)))
  const until = Date.now() + GONE_MS
  for (;;) {
    const left = await Promise.all([resource, RESOURCES.Pod].map((each) => client.list(each, jobSelection(job.name))))
    if (left.every((list) => list.items.length === 0)) return
    if (Date.now() > until)
      throw new UserError(`The job ${job.name} is being deleted, and its pods are not gone after a minute.`, {
        code: 'KUBE_SLOW',
        hint: `See what holds them: kubectl -n ${job.namespace} get pods -l ${jobSelection(job.name).labels}`,
      })
    await sleep(LOOK_MS)
  }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof KubeError) || error.status !== 404) throw error
}

/** Whoever may not delete pods waits for the cluster to do it. */
function leaveIt(error: unknown): void {
  if (!(error instanceof KubeError) || ![403, 404].includes(error.status)) throw error
}
