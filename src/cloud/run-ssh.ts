/** @file A job over ssh: one node on each host of a hostfile, driven over the connection to it. */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { exchanged, type NodeTask } from '../agent/index.ts'
import type { Env } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { openHosts, parseHosts, type RemoteHost, type SshHost, sshWords } from '../ssh/index.ts'
import { UserError } from '../util/index.ts'
import { jobOfFolder, readRequest } from './job-folder.ts'
import { sizeOf } from './jobs.ts'
import { keepLine } from './node-output.ts'
import { withContent } from './with-content.ts'

export interface RunSshOptions {
  /** Of the job. */
  readonly folder: string
  readonly hostfile?: string | undefined
  readonly version: string
  readonly env: Env
  readonly signal: AbortSignal
  readonly emit: EventSink
}

const CONNECT_SECONDS = 10
const STOP_MS = 60_000 // of a node that is asked to stop: it collects what was written

/** Resolves to the exit code of the node that failed first, 0, or undefined when the job was asked to stop. */
export async function runSsh(options: RunSshOptions): Promise<number | undefined> {
  const { folder, env, signal, emit, version } = options
  const nodes = sizeOf(readRequest(folder))
  const common = { ssh: sshWords(env), env, version, emit, connectSeconds: CONNECT_SECONDS, install: true }
  const hosts = await openHosts(hostsOf(options, nodes), common)
  const job = withContent(jobOfFolder(folder))
  const fsUgi = env['OARFISH_FS_UGI']
  let first: { readonly host: RemoteHost; readonly code: number } | undefined
  const driven = hosts.all.map((host, node) => {
    const secret = fsUgi === undefined ? {} : { fsUgi }
    const task = { job, node, nodes, jobId: env['OARFISH_JOB_ID'] ?? 'job', host: host.hello.address, ...secret }
    return drive(host, task, folder, (text) => meeting(node, text))
  })
  const stopAll = () => {
    for (const { stop } of driven) stop()
  }
  const meeting = meetingOf(nodes, (texts) => {
    for (const { tell } of driven) tell(texts)
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
    emit({
      kind: 'error',
      code: 'CLOUD_JOB',
      message: `${first.host.host.name} failed first: exit code ${first.code}.`,
    })
    return first.code
  } finally {
    signal.removeEventListener('abort', stopAll)
    await hosts.close()
  }
}

/** The first word of each line, as mpirun's hostfiles have it. */
function hostsOf({ hostfile }: RunSshOptions, nodes: number): readonly SshHost[] {
  if (hostfile === undefined)
    throw new UserError('There is no hostfile.', {
      code: 'SSH_CONF',
      hint: 'List the hosts in submit.hostfile, user@host:port each.',
    })
  const words = readFileSync(hostfile, 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().split(/\s+/)[0]!)
    .filter((word) => word !== '')
  const { hosts, problem } = parseHosts(words)
  if (problem !== undefined) throw new UserError(`${hostfile}: ${problem}`, { code: 'SSH_CONF' })
  if (hosts.length >= nodes) return hosts.slice(0, nodes)
  throw new UserError(`${hostfile} has ${hosts.length} hosts, but submit.nodes is ${nodes}.`, { code: 'SSH_CONF' })
}

/** One round after the other: when all nodes have given a text, all get those of all. */
function meetingOf(nodes: number, tell: (texts: readonly string[]) => void) {
  const texts = new Map<number, string>()
  return (node: number, text: string) => {
    texts.set(node, text)
    if (texts.size < nodes) return
    const all = Array.from({ length: nodes }, (_, i) => texts.get(i)!)
    texts.clear()
    tell(all)
  }
}

function drive(host: RemoteHost, task: NodeTask, folder: string, onExchange: (text: string) => void) {
  const child = host.spawn(['oarfish', 'agent', 'ssh'])
  const send = (words: unknown) => void child.stdin!.write(`${JSON.stringify(words)}\n`)
  send(task)
  for (const stream of [child.stdout!, child.stderr!])
    createInterface({ input: stream }).on('line', (line) => {
      const given = exchanged(line)
      if (given === undefined) keepLine(folder, line)
      else onExchange(given)
    })
  const ended = new Promise<number>((done) => {
    child.once('close', (code) => done(code ?? 1))
  })
  const stop = () => {
    child.stdin!.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    void ended.then(() => clearTimeout(timer))
  }
  return { ended, stop, tell: (texts: readonly string[]) => send(texts) }
}
