/** @file Jobs over ssh: one node on each host of a hostfile, driven over the connection to it. */
import { randomUUID } from 'node:crypto'
import { UserError } from '../../base/util/index.ts'
import { AGENT_COMMAND, type NodeTask } from '../agent/index.ts'
import { type Hosts, openHosts, type RemoteHost, type SshHost, sshWords } from '../ssh/index.ts'
import { type Job, jobSize } from '../submit/index.ts'
import type { ApplyContext, Executor } from './executor.ts'
import { hostsIn } from './hostfile.ts'
import { jobWithContents } from './job-folder.ts'
import type { HostStep } from './plan.ts'
import { driveNode } from './ssh-node.ts'

export interface SshFacts {
  /** The words that run ssh. */
  readonly ssh: readonly string[]
  /** As many as the job has nodes. */
  readonly hosts: readonly SshHost[]
}

export const ssh: Executor<SshFacts> = {
  kinds: ['_MPI'],
  atOnce: Number.POSITIVE_INFINITY,
  resumes: false,
  needsHostfile: true,
  lookUp: async (job, { env, hostfile }) => ({ ssh: sshWords(env), hosts: hostsFor(hostfile, jobSize(job)) }),
  plan: (_target, { ssh: program, hosts }) => ({
    steps: hosts.map((host, node) => ({
      kind: 'host',
      node,
      host,
      ssh: [...program, ...(host.port === undefined ? [] : ['-p', String(host.port)]), host.destination],
      words: AGENT_COMMAND,
    })),
  }),
  apply: async ({ steps }, context) =>
    await runOnHosts(
      steps.filter((step) => step.kind === 'host'),
      context,
    ),
}

const CONNECT_SECONDS = 10

/** Resolves to the exit code of the node that failed first, 0, or undefined when the job was asked to stop. */
async function runOnHosts(steps: readonly HostStep[], context: ApplyContext): Promise<number | undefined> {
  const { signal, emit, env, version } = context
  const common = { ssh: sshWords(env), env, version, emit, connectSeconds: CONNECT_SECONDS, install: true }
  const hosts = await openHosts(
    steps.map(({ host }) => host),
    common,
  )
  let first: { readonly host: RemoteHost; readonly code: number } | undefined
  const job = jobWithContents(context.job)
  // By which the job knows what it has saved itself, whoever has to be started again.
  const uid = randomUUID()
  const reopened: Hosts[] = []
  const driven = steps.map(({ words }, node) => {
    const host = hosts.all[node]!
    const task = { ...taskOf(job, { node, nodes: steps.length, host: host.hello.address }, context), uid }
    const reopen = async () => {
      const again = await openHosts([steps[node]!.host], common)
      reopened.push(again)
      return again.all[0]!
    }
    const onExchange = (text: string) => exchange(node, text)
    return driveNode(host, { words, task, folder: context.folder, onExchange, emit, reopen })
  })
  const stopAll = () => {
    for (const { stop } of driven) stop()
  }
  const exchange = exchangeAmong(steps.length, (texts) => {
    for (const { answer } of driven) answer(texts)
  })
  signal.addEventListener('abort', stopAll, { once: true })
  if (signal.aborted) stopAll()
  try {
    await Promise.all(
      driven.map(async ({ ended }, i) => {
        const code = await ended
        if (code === 0) return
        first ??= { host: hosts.all[i]!, code }
        stopAll()
      }),
    )
    if (signal.aborted) return undefined
    if (!first) return 0
    const message = `${first.host.host.name} failed first: exit code ${first.code}.`
    emit({ kind: 'error', code: 'CLOUD_JOB', message })
    return first.code
  } finally {
    signal.removeEventListener('abort', stopAll)
    await Promise.all([hosts, ...reopened].map((opened) => opened.close()))
  }
}

const taskOf = (job: Job, node: Pick<NodeTask, 'node' | 'nodes' | 'host'>, { env }: ApplyContext): NodeTask => ({
  ...node,
  job,
  jobId: env['OARFISH_JOB_ID'] ?? 'job',
  fsUgi: env['OARFISH_FS_UGI'],
})

/** The first hosts of the hostfile, as many as there are nodes. */
function hostsFor(hostfile: string | undefined, nodes: number): readonly SshHost[] {
  if (hostfile === undefined)
    throw new UserError('There is no hostfile.', {
      code: 'SSH_CONF',
      hint: 'List the hosts in submit.hostfile, user@host:port each.',
    })
  const hosts = hostsIn(hostfile)
  if (hosts.length >= nodes) return hosts.slice(0, nodes)
  throw new UserError(`${hostfile} has ${hosts.length} hosts, but submit.nodes is ${nodes}.`, { code: 'SSH_CONF' })
}

/** One round after the other: when all nodes have given a text, all get those of all. */
function exchangeAmong(nodes: number, answer: (texts: readonly string[]) => void) {
  const texts = new Map<number, string>()
  return (node: number, text: string) => {
    texts.set(node, text)
    if (texts.size < nodes) return
    const all = Array.from({ length: nodes }, (_, i) => texts.get(i)!)
    texts.clear()
    answer(all)
  }
}
