/** @file A collective job from flags to processes: all hosts are alike, each starts its own ranks. */
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEVICE_VARIABLE } from '../../base/device/index.ts'
import { type Env, jobHosts, silenceSetting, tlsSetting } from '../../base/env/index.ts'
import { splitEndpoint } from '../../base/net/index.ts'
import { isUserError, makeOwnFolder } from '../../base/util/index.ts'
import type { ProcessSpec } from './child.ts'
import type { CollectiveLayout } from './collective-layout.ts'
import { commandOf, jobVariables, type LaunchOptions, launchSecrets } from './launch.ts'
import { localHosts, reachableAddress, thisHost } from './local-host.ts'
import { holdLogFolder } from './log-folder.ts'
import { collectiveEnv, type JobNode } from './process-env.ts'
import { recovering, restartEnv, type StartedJob } from './recover.ts'
import { addressTowards, type Rendezvous, rendezvous } from './rendezvous.ts'
import { checkSharedMemory } from './shared-memory-room.ts'
import { type BoundSocket, bindSocket } from './sockets.ts'
import { type RunningJob, superviseJob } from './supervise.ts'

export interface LaunchCollectiveOptions extends Omit<LaunchOptions, 'layout' | 'maxRestart'> {
  readonly layout: CollectiveLayout
  /** The command that starts the job on another host, by the address of the master. */
  readonly commandFor: (master: string) => string
}

/** Processes of this host that are about to start. */
interface Local {
  readonly node: JobNode
  /** Of automatic ports, by process. */
  readonly sockets: readonly (BoundSocket | undefined)[]
}

/** Where the ranks of this launch stand in the job. */
interface JobPlacement {
  readonly nodes: readonly JobNode[]
  /** Places in `nodes` that are of this launch. */
  readonly own: readonly { readonly index: number; readonly local: Local }[]
  readonly variables: Env
  /** Undefined where all hosts are listed. */
  readonly found: Rendezvous | undefined
}

const FIND_MS = 15 * 60 * 1000
const FIND_AGAIN_MS = 30 * 1000
const RESTART_MS = 3000 // what is not saved by then is trained again
const LOOPBACK = '127.0.0.1'

/** Starts the ranks of this host. Nothing is started when anything about the launch is wrong. */
export async function launchCollective(options: LaunchCollectiveOptions): Promise<RunningJob> {
  const { layout } = options
  const command = commandOf(options)
  checkSharedMemory(options)
  const { hosts, nodes } = layout
  const lock = await holdLogFolder(options.logDir, {
    script: options.script,
    job: Math.max(hosts.length, nodes.max) > 1 ? { hosts, nodes } : undefined,
    onWait: (message) => options.emit({ kind: 'notice', message }),
  })
  const isElastic = layout.nodes.min < layout.nodes.max
  const place = (timeoutMs: number) => (layout.hosts.length > 0 ? byList(options) : atMaster(options, timeoutMs))
  const glooFolder = makeOwnFolder('gloo')
  const begin = (placement: JobPlacement, restart: number): Run => {
    const stop = new AbortController()
    const processes = processesOf(options, placement, glooFolder, restart)
    const signal = AbortSignal.any([options.signal, stop.signal])
    const stopMs = isElastic ? RESTART_MS : options.stopMs
    const job = superviseJob({ command, processes, hasAllWorkers: true }, { ...options, signal, stopMs })
    writeEndpoints(options.logDir, placement.nodes)
    return { ...job, stop: async () => [stop.abort(), await job.ended] }
  }
  const clean = () => {
    rmSync(glooFolder, { recursive: true, force: true })
    lock.release()
  }
  try {
    const job = await (isElastic ? elasticJob(options, place, begin) : steadyJob(options, place, begin))
    return { ended: job.ended.finally(clean), kill: () => [job.kill(), clean()] }
  } catch (error) {
    clean()
    throw error
  }
}

type Place = (timeoutMs: number) => Promise<JobPlacement>
type Begin = (placement: JobPlacement, restart: number) => Run

/** Of hosts that stay. */
async function steadyJob(options: LaunchCollectiveOptions, place: Place, begin: Begin): Promise<RunningJob> {
  const { hosts, nodes, maxRestart } = options.layout
  let placement: JobPlacement
  const start = async (restart: number): Promise<StartedJob> => {
    placement?.found?.leave()
    placement = await place(restart > 0 ? FIND_AGAIN_MS : FIND_MS)
    const job = begin(placement, restart)
    return { ...job, logs: logsOf(options, placement) }
  }
  // Of a job on several hosts each would have to start its ranks again at once.
  const isWhole = Math.max(hosts.length, nodes.max) <= 1
  const job = await recovering(start, { ...options, maxRestart: isWhole ? maxRestart : 0 })
  return { ...job, ended: job.ended.finally(() => placement.found?.leave()) }
}

async function elasticJob(options: LaunchCollectiveOptions, place: Place, begin: Begin): Promise<RunningJob> {
  const placement = await place(FIND_MS)
  let job = begin(placement, 0)
  const ended = elastic(options, { placement, place, begin, onJob: (next) => (job = next) }, job)
  return { ended, kill: () => job.kill() }
}

/** Processes between two changes of the job. */
interface Run extends RunningJob {
  stop(): Promise<unknown>
}

interface ElasticOptions {
  readonly placement: JobPlacement
  readonly place: Place
  readonly begin: Begin
  readonly onJob: (job: Run) => void
}

/** Starts again, from the last checkpoint, whenever a host comes or goes, or a rank of this host fails. */
async function elastic(
  { layout, emit, signal }: LaunchCollectiveOptions,
  { placement: first, place, begin, onJob }: ElasticOptions,
  firstJob: Run,
): Promise<number | undefined> {
  let [placement, job] = [first, firstJob]
  for (let restart = 1; ; restart++) {
    const event = await Promise.race([
      placement.found!.changed.then((why) => ({ kind: 'changed', why, code: undefined }) as const),
      job.ended.then((code) => ({ kind: 'ended', code }) as const),
    ])
    const { code } = event
    const isOver = event.kind === 'ended' && (code === 0 || code === undefined)
    if (isOver || restart > layout.maxRestart || signal.aborted) {
      placement.found!.leave(code === 0 ? undefined : 'it starts no more')
      if (event.kind === 'changed') await job.stop()
      return code
    }
    const why = event.kind === 'changed' ? event.why : `a rank of this host failed (exit code ${code})`
    emit({ kind: 'notice', message: `Starting again, ${restart} of ${layout.maxRestart} times: ${why}.` })
    placement.found!.leave(why)
    await job.stop()
    placement = await place(Math.max(layout.elasticTimeoutMs, FIND_AGAIN_MS))
    job = begin(placement, restart)
    onJob(job)
  }
}

/** Hosts that are listed: each knows the whole job by itself. */
async function byList(options: LaunchCollectiveOptions): Promise<JobPlacement> {
  const { layout, here } = options
  const { hosts } = layout
  const local = await localHosts(hosts, here ?? thisHost(layout.host))
  const all = await Promise.all(
    hosts.map(async (host) => {
      return local.has(host) ? await localNode(layout, host) : { node: remoteNode(layout, host), sockets: [] }
    }),
  )
  const own = hosts.flatMap((host, index) => (local.has(host) ? [{ index, local: all[index]! }] : []))
  const variables = jobVariables(options, own.length === hosts.length)
  return { nodes: all.map(({ node }) => node), own, variables, found: undefined }
}

/** Hosts that do not know each other find each other at the master. */
async function atMaster(options: LaunchCollectiveOptions, timeoutMs: number): Promise<JobPlacement> {
  const { layout, env, jobId = 'default', emit, signal } = options
  const notice = (message: string) => emit({ kind: 'notice', message })
  const secrets = launchSecrets(env, layout.nodes.max === 1, { emit, namesHosts: jobHosts(env) !== undefined })
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
      const shared = { tls: tlsSetting(env), hosts: jobHosts(env), silenceMs: silenceSetting(env) }
      const job = { id: jobId, token: secrets.token, ...shared }
      const own = local.node
      const found = await rendezvous({ master, isMasterHere, layout, own, job, timeoutMs, notice, signal })
      const variables = { OARFISH_JOB_ID: jobId, ...secrets.variables }
      return { nodes: found.nodes, own: [{ index: found.own, local }], variables, found }
    } catch (error) {
      for (const socket of local.sockets) socket?.close()
      // The others are already on their way to another rendezvous.
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
  { env, logDir, layout }: LaunchCollectiveOptions,
  { nodes, own, variables }: JobPlacement,
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
  const device = layout.device === undefined ? {} : { [DEVICE_VARIABLE]: layout.device }
  const specs = own.flatMap(({ index, local }) =>
    local.node.endpoints.map((endpoint, i): Omit<ProcessSpec, 'log'> => {
      const socket = local.sockets[i]
      return {
        role: 'worker',
        rank: endpoints.indexOf(endpoint),
        endpoint,
        env: { ...device, ...collectiveEnv(env, job, index, i), ...variables, ...restartEnv(restart) },
        sockets: socket ? [socket] : [],
      }
    }),
  )
  return specs.map((spec, i) => ({ ...spec, log: logOf(logDir, i), goesOn: restart > 0 }))
}

const logOf = (logDir: string, index: number) => join(logDir, `workerlog.${index}`)

const logsOf = ({ logDir }: LaunchCollectiveOptions, { own }: JobPlacement) =>
  own.flatMap(({ local }) => local.node.endpoints).map((_, i) => logOf(logDir, i))

/** The list as the original leaves it beside the logs. */
function writeEndpoints(logDir: string, nodes: readonly JobNode[]): void {
  const endpoints = nodes.flatMap((node) => node.endpoints)
  writeFileSync(join(logDir, 'endpoints.log'), `PADDLE_TRAINER_ENDPOINTS: \n${endpoints.join('\n')}`)
}
