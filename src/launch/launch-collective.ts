/** @file A collective job from flags to processes: all hosts are alike, each starts its own ranks. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Env } from '../env/index.ts'
import { splitEndpoint } from '../net/index.ts'
import { isUserError } from '../util/index.ts'
import type { ProcessSpec } from './child.ts'
import { collectiveEnv, type JobNode } from './collective-env.ts'
import type { CollectiveLayout } from './collective-layout.ts'
import { commandOf, type LaunchOptions } from './launch.ts'
import { localHosts, reachableAddress, thisHost } from './local-host.ts'
import { makeLogFolder } from './log-folder.ts'
import { addressTowards, type Meeting, meet } from './meet.ts'
import { type BoundSocket, bindSocket } from './sockets.ts'
import { type RunningJob, superviseJob } from './supervise.ts'

export interface LaunchCollectiveOptions extends Omit<LaunchOptions, 'layout'> {
  readonly layout: CollectiveLayout
  /** The command that starts the job on another host, told where the hosts meet. */
  readonly commandFor: (master: string) => string
  /** @default 15 minutes */
  readonly meetTimeoutMs?: number
}

/** Processes of this host that are about to start. */
interface Local {
  readonly node: JobNode
  /** Of automatic ports, by process. */
  readonly sockets: readonly (BoundSocket | undefined)[]
}

/** Where the ranks of this launch stand in the job. */
interface Placed {
  readonly nodes: readonly JobNode[]
  /** Places in `nodes` that are of this launch. */
  readonly own: readonly { readonly index: number; readonly local: Local }[]
  readonly variables: Env
  readonly meeting?: Meeting
}

const MEET_TIMEOUT_MS = 15 * 60 * 1000
const MEET_AGAIN_MS = 30 * 1000
const RESTART_MS = 3000 // what is not saved by then is trained again
const LOOPBACK = '127.0.0.1'

/** Starts the ranks of this host. Nothing is started when anything about the launch is wrong. */
export async function launchCollective(options: LaunchCollectiveOptions): Promise<RunningJob> {
  const { layout } = options
  const command = commandOf(options)
  await makeLogFolder(options.logDir)
  const isElastic = layout.nodes.min < layout.nodes.max
  const { meetTimeoutMs = MEET_TIMEOUT_MS } = options
  const place = (timeoutMs: number) => (layout.hosts.length > 0 ? byList(options) : byMeeting(options, timeoutMs))
  const glooFolder = mkdtempSync(join(tmpdir(), 'oarfish-gloo-'))
  const begin = (placed: Placed, restart: number): Run => {
    const stop = new AbortController()
    const processes = processesOf(options, placed, glooFolder, restart)
    const signal = AbortSignal.any([options.signal, stop.signal])
    const supervised = { ...options, signal, ...(isElastic && { stopMs: RESTART_MS }) }
    const job = superviseJob({ command, processes, hasAllWorkers: true }, supervised)
    writeEndpoints(options.logDir, placed.nodes)
    return { ...job, stop: async () => [stop.abort(), await job.ended] }
  }
  const clean = () => rmSync(glooFolder, { recursive: true, force: true })
  let placed: Placed
  try {
    placed = await place(meetTimeoutMs)
  } catch (error) {
    clean()
    throw error
  }
  let job = begin(placed, 0)
  const ended = isElastic
    ? elastic(options, { placed, place, begin, onJob: (next) => (job = next) }, job)
    : job.ended.finally(() => placed.meeting?.leave())
  return { ended: ended.finally(clean), kill: () => [job.kill(), clean()] }
}

/** Processes between two changes of the job. */
interface Run extends RunningJob {
  stop(): Promise<unknown>
}

interface ElasticOptions {
  readonly placed: Placed
  readonly place: (timeoutMs: number) => Promise<Placed>
  readonly begin: (placed: Placed, restart: number) => Run
  readonly onJob: (job: Run) => void
}

/** Starts again, from the last checkpoint, whenever a host comes or goes, or a rank of this host fails. */
async function elastic(
  { layout, emit, signal }: LaunchCollectiveOptions,
  { placed: first, place, begin, onJob }: ElasticOptions,
  firstJob: Run,
): Promise<number | undefined> {
  let [placed, job] = [first, firstJob]
  for (let restart = 1; ; restart++) {
    const change = await Promise.race([placed.meeting!.changed, job.ended.then((code) => ({ code }))])
    const code = typeof change === 'string' ? undefined : change.code
    const isOver = typeof change !== 'string' && (code === 0 || code === undefined)
    if (isOver || restart > layout.maxRestart || signal.aborted) {
      placed.meeting!.leave(code === 0 ? undefined : 'it starts no more')
      if (typeof change === 'string') await job.stop()
      return code
    }
    const why = typeof change === 'string' ? change : `a rank of this host failed (exit code ${code})`
    emit({ kind: 'notice', message: `Starting again, ${restart} of ${layout.maxRestart} times: ${why}.` })
    placed.meeting!.leave(why)
    await job.stop()
    placed = await place(Math.max(layout.elasticTimeoutMs, MEET_AGAIN_MS))
    job = begin(placed, restart)
    onJob(job)
  }
}

/** Hosts that are listed: each knows the whole job by itself. */
async function byList({ layout, env, jobId, here }: LaunchCollectiveOptions): Promise<Placed> {
  const { hosts } = layout
  const local = await localHosts(hosts, here ?? thisHost(layout.host))
  const all = await Promise.all(
    hosts.map(async (host) => {
      return local.has(host) ? await localNode(layout, host) : { node: remoteNode(layout, host), sockets: [] }
    }),
  )
  const own = hosts.flatMap((host, index) => (local.has(host) ? [{ index, local: all[index]! }] : []))
  const isWhole = own.length === hosts.length
  const named = jobId ?? env['OARFISH_JOB_ID'] ?? env['SYS_JOB_ID']
  const variables = {
    ...((named || isWhole) && { OARFISH_JOB_ID: named || randomBytes(6).toString('hex') }),
    // On several hosts every process derives it from the list.
    ...(isWhole && { OARFISH_JOB_TOKEN: env['OARFISH_JOB_TOKEN'] || randomBytes(32).toString('hex') }),
  }
  return { nodes: all.map(({ node }) => node), own, variables }
}

/** Hosts that do not know each other meet at the master. */
async function byMeeting(options: LaunchCollectiveOptions, timeoutMs: number): Promise<Placed> {
  const { layout, env, jobId = 'default', emit, signal } = options
  const notice = (message: string) => emit({ kind: 'notice', message })
  const master = layout.master ?? (await freeEndpoint(layout))
  const { host, port } = splitEndpoint(master)
  const isMasterHere = await localHosts([host], thisHost(layout.host)).then(
    () => true,
    () => false,
  )
  const address = layout.host ?? (isMasterHere ? host : ((await addressTowards(host, port)) ?? LOOPBACK))
  for (;;) {
    const local = await localNode(layout, address)
    if (isMasterHere && (layout.nodeRank ?? 0) === 0)
      notice(`Copy the following command to other nodes to run.\n${RULE}\n${options.commandFor(master)}\n${RULE}`)
    try {
      const meeting = await meet({
        ...{ master, jobId, isMasterHere, notice, signal },
        nodes: layout.nodes,
        token: env['OARFISH_JOB_TOKEN'] || undefined,
        own: local.node,
        nodeRank: layout.nodeRank,
        sortByAddress: layout.sortByAddress,
        timeoutMs,
        elasticTimeoutMs: layout.elasticTimeoutMs,
      })
      const variables = { OARFISH_JOB_ID: jobId, OARFISH_JOB_TOKEN: meeting.token }
      return { nodes: meeting.nodes, own: [{ index: meeting.own, local }], variables, meeting }
    } catch (error) {
      for (const socket of local.sockets) socket?.close()
      // The others are already on their way to another meeting.
      const again = layout.nodes.min < layout.nodes.max && !isUserError(error) && !signal.aborted
      if (!again) throw error
    }
  }
}

const RULE = '-'.repeat(80)

/** A master that nobody named: this host as others see it, on a port that is free. */
async function freeEndpoint({ host = reachableAddress() }: CollectiveLayout): Promise<string> {
  const socket = await bindSocket(host)
  socket.close()
  return `${host}:${socket.port}`
}

async function localNode(layout: CollectiveLayout, host: string): Promise<Local> {
  const { startPort, devices } = layout
  if (startPort !== undefined) return { node: remoteNode(layout, host), sockets: [] }
  const sockets = await Promise.all(devices.map(() => bindSocket(host)))
  return { node: { host, devices, endpoints: sockets.map(({ port }) => `${host}:${port}`) }, sockets }
}

/** Ports are the same on every host. */
function remoteNode({ startPort, devices }: CollectiveLayout, host: string): JobNode {
  return { host, devices, endpoints: devices.map((_, i) => `${host}:${startPort! + i}`) }
}

function processesOf(
  { env, logDir }: LaunchCollectiveOptions,
  { nodes, own, variables }: Placed,
  glooFolder: string,
  restart: number,
): readonly ProcessSpec[] {
  const endpoints = nodes.flatMap((node) => node.endpoints)
  const podName = randomBytes(6)
    .toString('base64url')
    .toLowerCase()
    .replace(/[^a-z]/g, 'x')
    .slice(0, 6)
  const job = { nodes, master: endpoints[0]!, logDir, glooFolder, podName }
  const resume = restart > 0 ? { OARFISH_RESUME: '1' } : {}
  const specs = own.flatMap(({ index, local }) =>
    local.node.endpoints.map((endpoint, i): Omit<ProcessSpec, 'log'> => {
      const socket = local.sockets[i]
      return {
        role: 'worker',
        rank: endpoints.indexOf(endpoint),
        endpoint,
        env: { ...collectiveEnv(env, job, index, i), ...variables, ...resume },
        sockets: socket ? [socket] : [],
      }
    }),
  )
  return specs.map((spec, i) => ({ ...spec, log: join(logDir, `workerlog.${i}`) }))
}

/** The list as the original leaves it beside the logs. */
function writeEndpoints(logDir: string, nodes: readonly JobNode[]): void {
  const endpoints = nodes.flatMap((node) => node.endpoints)
  writeFileSync(join(logDir, 'endpoints.log'), `PADDLE_TRAINER_ENDPOINTS: \n${endpoints.join('\n')}`)
}
