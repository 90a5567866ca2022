/** @file A collective job from flags to processes: all hosts are alike, each starts its own ranks. */
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEVICE_VARIABLE } from '../../base/device/index.ts'
import { type Env, jobHosts, silenceSetting, tlsSetting } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { reachableAddress, splitEndpoint } from '../../base/net/index.ts'
import { isUserError, makeOwnFolder } from '../../base/util/index.ts'
import type { Child, ProcessSpec } from './child.ts'
import type { CollectiveLayout } from './collective-layout.ts'
import { elasticJob, type Meeting, type Run } from './elastic-hosts.ts'
import { commandOf, jobVariables, type LaunchOptions, launchSecrets } from './launch.ts'
import { localHosts, thisHost } from './local-host.ts'
import { holdLogFolder } from './log-folder.ts'
import { collectiveEnv, type JobNode } from './process-env.ts'
import { asOneRun } from './record-launch.ts'
import { type Restart, recovering, restartEnv, resumes, type StartedJob } from './recover.ts'
import { addressTowards, type Rendezvous, rendezvous } from './rendezvous.ts'
import { checkSharedMemory } from './shared-memory-room.ts'
import { type BoundSocket, bindSocket } from './sockets.ts'
import { Standby } from './standby.ts'
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
export interface JobPlacement {
  readonly nodes: readonly JobNode[]
  /** Places in `nodes` that are of this launch. */
  readonly own: readonly { readonly index: number; readonly local: Local }[]
  readonly variables: Env
  /** Undefined where all hosts are listed. */
  readonly found: Rendezvous | undefined
}

const FIND_MS = 15 * 60 * 1000
const FIND_AGAIN_MS = 30 * 1000
const LOOPBACK = '127.0.0.1'

/** Starts the ranks of this host. Nothing is started when anything about the launch is wrong. */
export async function launchCollective(given: LaunchCollectiveOptions): Promise<RunningJob> {
  // Hosts that find each other have the job's name alone in common.
  const options = Math.max(given.layout.hosts.length, given.layout.nodes.max) > 1 ? given : asOneRun(given)
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
  const place = (timeoutMs: number, emit: EventSink) =>
    layout.hosts.length > 0
      ? byList({ ...options, emit })
      : atMaster({ ...options, emit }, { timeoutMs, number: 0, processes: layout.devices.length })
  const glooFolder = makeOwnFolder('gloo')
  const plan = (placement: JobPlacement, restart: Restart): Planned => ({
    placement,
    processes: processesOf(options, placement, glooFolder, restart),
  })
  const begin = ({ placement, processes }: Planned, ahead?: readonly Child[], ownSignal?: AbortSignal): Run => {
    const stop = new AbortController()
    let stopMs = typeof options.stopMs === 'function' ? options.stopMs() : options.stopMs
    const signal = AbortSignal.any([ownSignal ?? options.signal, stop.signal])
    const own = { ...options, signal, stopMs: () => stopMs }
    const job = superviseJob({ command, processes, ahead, hasAllWorkers: true }, own)
    writeEndpoints(options.logDir, placement.nodes)
    const end = async (waitMs: number) => {
      stopMs = waitMs
      stop.abort()
      await job.ended
    }
    return { ...job, logs: logsOf(options, placement), stop: end }
  }
  const clean = () => {
    rmSync(glooFolder, { recursive: true, force: true })
    lock.release()
  }
  try {
    const meet = (meeting: Meeting) => atMaster(options, meeting)
    const job = await (isElastic
      ? elasticJob(options, { meet, begin: (placement, restart) => begin(plan(placement, restart)) })
      : steadyJob(options, { command, place, plan, begin }))
    return { ended: job.ended.finally(clean), kill: () => [job.kill(), clean()] }
  } catch (error) {
    clean()
    throw error
  }
}

interface Planned {
  readonly placement: JobPlacement
  readonly processes: readonly ProcessSpec[]
}

interface SteadyOptions {
  readonly command: readonly string[]
  readonly place: (timeoutMs: number, emit: EventSink) => Promise<JobPlacement>
  readonly plan: (placement: JobPlacement, restart: Restart) => Planned
  readonly begin: (planned: Planned, ahead: readonly Child[] | undefined, signal: AbortSignal) => Run
}

/** Of hosts that stay. */
async function steadyJob(options: LaunchCollectiveOptions, how: SteadyOptions): Promise<RunningJob> {
  const { hosts, nodes, maxRestart, master } = options.layout
  const { oarfish, env } = options
  const leave = (planned: Planned | undefined) => planned?.placement.found?.leave()
  const standby = new Standby<Planned>({
    ...{ command: how.command, oarfish, env },
    plan: async (restart, isAhead) => {
      const emit = isAhead ? () => undefined : options.emit
      return how.plan(await how.place(restart.number > 0 ? FIND_AGAIN_MS : FIND_MS, emit), restart)
    },
    drop: leave,
  })
  const isSpread = Math.max(hosts.length, nodes.max) > 1
  let now: Planned | undefined
  const start = async (restart: Restart, signal: AbortSignal): Promise<StartedJob> => {
    leave(now)
    const { plan, ahead } = await standby.take(restart)
    now = plan
    const run = how.begin(plan, ahead, signal)
    // Ranks of other hosts are found anew, and a master of a given port is that of the start under way.
    if (!isSpread && master === undefined) standby.watch(run.logs, restart)
    return run
  }
  const job = await recovering(start, { ...options, maxRestart, isSpread, resumes: resumes(options.script) })
  const over = () => [standby.close(), leave(now)]
  return { ended: job.ended.finally(over), kill: () => [job.kill(), standby.close()] }
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
async function atMaster(options: LaunchCollectiveOptions, meeting: Meeting): Promise<JobPlacement> {
  const { layout: whole, env, jobId = 'default', emit, signal } = options
  const { timeoutMs, number, expected, processes, resumes: knows } = meeting
  const layout = { ...whole, devices: whole.devices.slice(0, processes) }
  const notice = (message: string) => emit({ kind: 'notice', message })
  const say = number === 0 ? emit : () => undefined // once
  const secrets = launchSecrets(env, layout.nodes.max === 1, { emit: say, namesHosts: jobHosts(env) !== undefined })
  const master = layout.master ?? (await freeEndpoint(layout))
  const { host, port } = splitEndpoint(master)
  const isMasterHere = await localHosts([host], thisHost(layout.host)).then(
    () => true,
    () => false,
  )
  const address = layout.host ?? (isMasterHere ? host : ((await addressTowards(host, port)) ?? LOOPBACK))
  for (;;) {
    const local = await localNode(layout, address)
    if (isMasterHere && (layout.nodeRank ?? 0) === 0 && number === 0)
      notice(`Copy the following command to other nodes to run.\n${RULE}\n${options.commandFor(master)}\n${RULE}`)
    try {
      const shared = { tls: tlsSetting(env), hosts: jobHosts(env), silenceMs: silenceSetting(env) }
      const job = { id: jobId, token: secrets.token, ...shared }
      const own = local.node
      const meets = { layout, own, number, expected, resumes: knows, job, timeoutMs, notice, signal }
      const found = await rendezvous({ master, isMasterHere, ...meets })
      const isElastic = layout.nodes.min < layout.nodes.max
      const numbered = isElastic ? { OARFISH_MEMBERSHIP: String(found.number) } : {}
      const variables = { OARFISH_JOB_ID: jobId, ...numbered, ...secrets.variables }
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
  restart: Restart,
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
  return specs.map((spec, i) => ({ ...spec, log: logOf(logDir, i), goesOn: restart.number > 0 }))
}

const logOf = (logDir: string, index: number) => join(logDir, `workerlog.${index}`)

const logsOf = ({ logDir }: LaunchCollectiveOptions, { own }: JobPlacement) =>
  own.flatMap(({ local }) => local.node.endpoints).map((_, i) => logOf(logDir, i))

/** The list as the original leaves it beside the logs. */
function writeEndpoints(logDir: string, nodes: readonly JobNode[]): void {
  const endpoints = nodes.flatMap((node) => node.endpoints)
  writeFileSync(join(logDir, 'endpoints.log'), `PADDLE_TRAINER_ENDPOINTS: \n${endpoints.join('\n')}`)
}
