/** @file What paddle_k8s start_fluid reads of a pod and gives its program, in the variables of all its versions. Pure. */
import type { Env } from '../../../base/env/index.ts'
import { UserError } from '../../../base/util/index.ts'

export const FLUID_ROLES = ['TRAINER', 'PSERVER', 'WORKER'] as const
export type FluidRole = (typeof FLUID_ROLES)[number]

/** A pod as its manifest describes it. */
export interface FluidPod {
  readonly job: string
  readonly role: FluidRole
  readonly namespace: string
  readonly name: string
  readonly ip: string
  readonly port: string
  /** 0 for a WORKER, which has no servers. */
  readonly servers: number
  readonly trainers: number
  /** The shell line to run. */
  readonly entry: string
}

export interface Peer {
  readonly name: string
  readonly ip: string
}

const DEFAULT_PORT = '6174' // of PaddlePaddle's servers

export function readFluidPod(env: Env): FluidPod {
  const role = roleIn(env)
  return {
    job: required(env, 'PADDLE_JOB_NAME'),
    role,
    namespace: env['NAMESPACE'] || env['POD_NAMESPACE'] || 'default',
    name: required(env, 'POD_NAME'),
    ip: env['POD_IP'] || required(env, 'PADDLE_CURRENT_IP'),
    port: env['PADDLE_PORT'] || env['PADDLE_PSERVER_PORT'] || DEFAULT_PORT,
    servers: role === 'WORKER' ? 0 : countIn(env, 'PADDLE_PSERVERS_NUM', 'PADDLE_PSERVERS'),
    trainers: countIn(env, 'PADDLE_TRAINERS_NUM', 'PADDLE_TRAINERS'),
    entry: required(env, 'ENTRY'),
  }
}

/** The pod's environment with what was found: PaddleCloud's names, those of EDL, and those of PaddleRec 1.8. */
export function fluidEnv(env: Env, pod: FluidPod, servers: readonly Peer[], trainers: readonly Peer[]): Env {
  const ips = (peers: readonly Peer[]) => peers.map(({ ip }) => ip).sort()
  const endpoints = ips(servers).map((ip) => `${ip}:${pod.port}`)
  // Where PADDLE_PSERVERS is the number of servers, its program takes it for that.
  const isCount = env['PADDLE_PSERVERS_NUM'] === undefined
  return {
    ...env,
    TRAINING_ROLE: pod.role === 'PSERVER' ? 'PSERVER' : 'TRAINER',
    PADDLE_TRAINING_ROLE: pod.role === 'PSERVER' ? 'PSERVER' : 'TRAINER',
    POD_IP: pod.ip,
    PADDLE_CURRENT_IP: pod.ip,
    PADDLE_PORT: pod.port,
    PADDLE_PSERVER_IPS: ips(servers).join(','),
    PADDLE_TRAINER_IPS: ips(trainers).join(','),
    ...(isCount ? {} : { PADDLE_PSERVERS: endpoints.join(',') }),
    PADDLE_PSERVERS_IP_PORT_LIST: endpoints.join(','),
    PADDLE_TRAINERS_NUM: String(pod.trainers),
    // Without a token the pods of the job are all that may connect; where trainers are not known, nobody can be named.
    ...(env['OARFISH_JOB_TOKEN'] || env['OARFISH_JOB_HOSTS'] || trainers.length === 0
      ? {}
      : { OARFISH_JOB_HOSTS: [...ips(servers), ...ips(trainers)].join(',') }),
    ...(pod.role === 'PSERVER'
      ? { PADDLE_PSERVER_ID: String(indexOf(pod, pod.ip, ips(servers))) }
      : { PADDLE_TRAINER_ID: String(indexOf(pod, pod.name, trainers.map(({ name }) => name).sort())) }),
  }
}

function indexOf({ name }: FluidPod, own: string, all: readonly string[]): number {
  const index = all.indexOf(own)
  if (index >= 0) return index
  throw new UserError(`The pod ${name} (${own}) is not among those of its job: ${all.join(', ')}.`, {
    code: 'KUBE_POD',
    hint: 'Give pods of servers the label paddle-job-pserver and those of trainers paddle-job, each with the value of PADDLE_JOB_NAME.',
  })
}

function roleIn(env: Env): FluidRole {
  const role = env['TRAINING_ROLE'] || required(env, 'PADDLE_TRAINING_ROLE')
  if ((FLUID_ROLES as readonly string[]).includes(role)) return role as FluidRole
  throw new UserError(`TRAINING_ROLE is "${role}", expected ${FLUID_ROLES.join(', ')}.`, {
    code: 'KUBE_POD',
    hint: 'Set it in the env of the pod template.',
  })
}

function countIn(env: Env, ...names: readonly string[]): number {
  const name = names.find((each) => env[each]) ?? names[0]!
  const text = required(env, name)
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new UserError(`${name} is "${text}", expected a number of pods.`, {
    code: 'KUBE_POD',
    hint: `Set ${names[0]} to the replicas of the task.`,
  })
}

function required(env: Env, name: string): string {
  const value = env[name]
  if (value) return value
  throw new UserError(`${name} is not set in this pod.`, {
    code: 'KUBE_POD',
    hint: 'paddle_k8s start_fluid runs in pods whose env has it; deploy/kubernetes/ctr-paddlepaddle-on-volcano.yaml is an example.',
  })
}
