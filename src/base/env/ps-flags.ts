/** @file Paddle's communicator and rpc flags in the environment of a worker: each is known, honoured or without effect, and why. */
import { UserError } from '../util/index.ts'
import { type Env, envError } from './cluster-env.ts'

export interface PsFlag {
  readonly name: string
  readonly effect: 'honoured' | 'none'
  /** How, or why not. */
  readonly why: string
}

const communicator = (name: string, why: string): PsFlag => ({
  name: `FLAGS_communicator_${name}`,
  effect: 'none',
  why,
})

/** In the order the documentation shows them. */
export const PS_FLAGS: readonly PsFlag[] = [
  {
    name: 'FLAGS_rpc_deadline',
    effect: 'honoured',
    why: 'milliseconds a live server may take to answer; where `runner.silence_limit` is not set also how long a process may be silent, up to a minute',
  },
  {
    name: 'FLAGS_rpc_retry_times',
    effect: 'none',
    why: 'a connection delivers or breaks; a broken one ends the job, and a request is never applied twice',
  },
  communicator('max_merge_var_num', 'gradients are not held back to be merged: each step is pushed at once'),
  communicator('send_queue_size', 'a thread has one push under way: its dense weights come back with it'),
  communicator('independent_recv_thread', 'sockets have a thread of their own in every mode'),
  communicator('min_send_grad_num_before_recv', 'dense weights come back with each push'),
  communicator('max_send_grad_num_before_recv', 'the older name of the one before'),
  communicator('thread_pool_size', 'a server has `runner.server_threads` threads'),
  communicator('send_wait_times', 'nothing waits to be merged'),
  communicator(
    'is_sgd_optimizer',
    'every optimizer runs on the servers (in geo that of rows on the workers, with `geo_delta: share` all)',
  ),
  communicator('merge_sparse_grad', 'gradients of one sign are always merged before they travel'),
  communicator('fake_rpc', 'there is no mode without a network: train in one process instead'),
]

/** What the flags of this environment mean for a process of a job with servers. */
export function psFlags(env: Env): { readonly requestTimeoutMs?: number } {
  const requestTimeoutMs = rpcDeadline(env)
  return requestTimeoutMs === undefined ? {} : { requestTimeoutMs }
}

const [MIN_SILENCE_MS, MAX_SILENCE_BY_FLAG_MS] = [1000, 60 * 1000]

/**
 * How long a process may be silent, in milliseconds, where the environment says it. Paddle's flag bounds a request, which may take hours:
 * jobs on clusters set it to ten. For silence it counts within bounds.
 */
export function silenceSetting(env: Env): number | undefined {
  const text = env['OARFISH_SILENCE_LIMIT']
  const deadlineMs = rpcDeadline(env)
  if (text === undefined || text === '')
    return deadlineMs && Math.min(Math.max(Math.round(deadlineMs), MIN_SILENCE_MS), MAX_SILENCE_BY_FLAG_MS)
  const seconds = Number(text)
  if (seconds >= 1 && seconds <= 86_400) return Math.round(1000 * seconds)
  throw envError('OARFISH_SILENCE_LIMIT', `expected seconds from 1 to 86400, got "${text}"`)
}

function rpcDeadline(env: Env): number | undefined {
  const text = env['FLAGS_rpc_deadline']
  if (text === undefined || text === '') return undefined
  const requestTimeoutMs = Number(text)
  if (!(requestTimeoutMs > 0)) {
    throw new UserError(`FLAGS_rpc_deadline: it is "${text}", expected milliseconds.`, {
      code: 'CLUSTER_ENV',
      hint: `FLAGS_rpc_deadline is ${PS_FLAGS[0]!.why}.`,
    })
  }
  return requestTimeoutMs
}
