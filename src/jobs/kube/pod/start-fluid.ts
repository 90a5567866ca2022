/** @file paddle_k8s start_fluid: waits for the pods of its job, sets the program's variables, and runs it. */
import { existsSync } from 'node:fs'
import type { V1Pod } from '@kubernetes/client-node'
import type { Env } from '../../../base/env/index.ts'
import { translateLine } from '../../launch/index.ts'
import type { KubeClient } from '../client.ts'
import { RESOURCES } from '../paths.ts'
import type { PodContext } from './agent.ts'
import { type FluidPod, fluidEnv, type Peer, readFluidPod } from './fluid-env.ts'
import { keptFolder, ownerUid } from './job-uid.ts'
import { patient, waitForPods } from './peers.ts'
import { refuseRestart } from './restarted.ts'
import { runEntry } from './run-entry.ts'
import { terminationMessage, writeTermination } from './termination.ts'

export interface StartFluidOptions extends PodContext {
  /** When this process began, in milliseconds. */
  readonly begunAt: number
  readonly say: (line: string) => void
  /** Takes what the program prints. */
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Resolves to the exit code of the program. */
export async function startFluid(options: StartFluidOptions): Promise<number> {
  const { env, say, signal } = options
  const pod = readFluidPod(env)
  const client = patient(await options.connect(pod.namespace), options)
  const pods = () => podsOf(pod, client)
  const podCount = pod.servers + pod.trainers
  const line = translateLine(pod.entry, existsSync)
  const restart = { client, podName: pod.name, pods, podCount, begunAt: options.begunAt, say, signal }
  await refuseRestart({ ...restart, goesOn: makesCuts(line) })
  const wait = { client, say, signal }
  const selector = `paddle-job-pserver=${pod.job}`
  const servers = pod.role === 'WORKER' ? [] : await waitForPods({ ...wait, selector, count: pod.servers })
  const trainers = await findTrainers(pod, wait, Boolean(env['OARFISH_JOB_TOKEN']))
  if (trainers === undefined) {
    writeTermination(BEYOND_THRESHOLD)
    say(BEYOND_THRESHOLD)
    return 0
  }
  const { env: own } = keptFolder(await ownerUid(client, pod.name), undefined)
  const programEnv = { ...fluidEnv(env, pod, servers.map(peerOf), trainers.map(peerOf)), ...own }
  if (Number(env['GLOG_v'] ?? 0) > 0)
    for (const name of changed(env, programEnv)) say(`export ${name}=${programEnv[name]}`)
  say(`${pod.role} ${programEnv['PADDLE_PSERVER_ID'] ?? programEnv['PADDLE_TRAINER_ID']} of ${pod.job}: ${line}`)
  const { code, lastLines } = await runEntry(line, { ...options, env: programEnv })
  const message = terminationMessage(code, lastLines)
  if (message !== undefined) writeTermination(message)
  return code
}

/** Training that saves itself inside epochs and goes on from there: a program of a user's own does not. */
export const makesCuts = (line: string): boolean => /\boarfish (train|tool (static_|static_ps_)?trainer)\b/.test(line)

async function podsOf({ job }: FluidPod, client: Pick<KubeClient, 'list'>): Promise<readonly V1Pod[]> {
  const selectors = [`paddle-job-pserver=${job}`, `paddle-job=${job}`]
  const found = await Promise.all(selectors.map((labels) => client.list<V1Pod>(RESOURCES.Pod, { labels })))
  return found.flatMap(({ items }) => items)
}

const FAILED_TRAINERS = 1
const BEYOND_THRESHOLD = `Failed trainer count beyond the threshold:  ${FAILED_TRAINERS}`

/** Servers that a token protects need not wait for trainers; others must know whom to let in. Undefined when too many of them have failed for the job to end well. */
async function findTrainers(
  { job, role, trainers: count }: FluidPod,
  wait: Omit<Parameters<typeof waitForPods>[0], 'selector' | 'count'>,
  hasToken: boolean,
) {
  if (role === 'PSERVER' && hasToken) return []
  const check = (pods: readonly V1Pod[]) => {
    if (role === 'TRAINER' && pods.filter(({ status }) => status?.phase === 'Failed').length > FAILED_TRAINERS)
      throw new TooManyFailedError()
  }
  try {
    return await waitForPods({ ...wait, selector: `paddle-job=${job}`, count, check })
  } catch (error) {
    if (error instanceof TooManyFailedError) return undefined
    throw error
  }
}

class TooManyFailedError extends Error {
  override readonly name = 'TooManyFailedError'
}

const peerOf = ({ metadata, status }: V1Pod): Peer => ({ name: metadata!.name!, ip: status!.podIP! })

const changed = (before: Env, after: Env) => Object.keys(after).filter((name) => before[name] !== after[name])
