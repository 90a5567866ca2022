/** @file A launch from flags to processes: who runs here, which ports they get, what they know, where their output goes. */
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { derivedTokenWarning, type Env, jobToken, TOKEN_WARNED } from '../../base/env/index.ts'
import { makeOwnFolder, suggest } from '../../base/util/index.ts'
import type { ProcessSpec } from './child.ts'
import { scriptMissing } from './errors.ts'
import { type JobFile, writeJobFile } from './job-file.ts'
import { openJoins } from './join.ts'
import { endpointText, type Layout, type ProcessAddress } from './layout.ts'
import { localHosts, type ThisHost, thisHost } from './local-host.ts'
import { holdLogFolder, makeLogFolder } from './log-folder.ts'
import { fleetrunEnv, type JobRole, launchPsEnv } from './process-env.ts'
import { asOneRun } from './record-launch.ts'
import { type RecoverOptions, type Restart, recovering, restartEnv, resumes, type StartedJob } from './recover.ts'
import { checkSharedMemory } from './shared-memory-room.ts'
import { type BoundSocket, bindSocket } from './sockets.ts'
import { Standby } from './standby.ts'
import { type RunningJob, type SuperviseOptions, superviseJob } from './supervise.ts'
import { TOOLS, translateScript } from './translate.ts'

export interface LaunchOptions extends SuperviseOptions, RecoverOptions {
  readonly layout: Layout
  /** The script and its arguments, as typed. */
  readonly script: readonly string[]
  readonly logDir: string
  /** The name of a process's log; `index` counts those of its role on this host. @default serverlog.0, workerlog.0 ... */
  readonly logName?: (role: JobRole, index: number) => string
  readonly env: Env
  /** The words that run `oarfish`. */
  readonly oarfish: readonly string[]
  readonly jobId?: string | undefined
  readonly here?: ThisHost
}

/** Starts the processes of this host. Nothing is started when anything about the launch is wrong. */
export async function launch(given: LaunchOptions): Promise<RunningJob> {
  const options = asOneRun(given)
  const { layout, env, here = thisHost(env['POD_IP']) } = options
  const command = commandOf(options)
  if (isPaddleCloud(env)) {
    await makeLogFolder(options.logDir)
    return superviseJob({ command, processes: [asIs(options)], hasAllWorkers: true }, options)
  }
  checkSharedMemory(options)
  const listed = layout.workersListen ? [...layout.servers, ...layout.workers] : layout.servers
  const hosts = listed.map(({ host }) => host)
  const local = new Set(await localHosts(hosts, here))
  const isWhole = hosts.every((host) => local.has(host))
  const lock = await holdLogFolder(options.logDir, {
    script: options.script,
    job: isWhole ? undefined : layout,
    onWait: (message) => options.emit({ kind: 'notice', message }),
  })
  if (!layout.workersListen) for (const { host } of layout.workers) local.add(host)
  const glooFolder = makeOwnFolder('gloo')
  const { leastWorkers: min, workers: all } = layout
  const joins = min === undefined ? undefined : await openJoins()
  let forget: (() => void) | undefined
  const plan = async (restart: Restart) => {
    const { workers: count = all.length } = restart
    const now = { ...layout, workers: all.slice(0, count) }
    const bound = await bindAutomatic(now, local)
    return { bound, processes: processesOf({ ...options, layout: now }, { bound, local, glooFolder, restart }) }
  }
  const standby = new Standby({ command, oarfish: options.oarfish, env, plan })
  const clean = () => {
    standby.close()
    rmSync(glooFolder, { recursive: true, force: true })
    forget?.()
    joins?.close()
    lock.release()
  }
  const start = async (restart: Restart, signal: AbortSignal): Promise<StartedJob> => {
    const { plan: planned, ahead } = await standby.take(restart)
    const { bound, processes } = planned
    const hasAllWorkers = all.every(({ host }) => local.has(host))
    const job = superviseJob({ command, processes, ahead, hasAllWorkers }, { ...options, signal })
    forget?.()
    forget = writeJobFile(options.logDir, {
      ...jobFile(processes, bound, env),
      ...(joins ? { joins: joins.path } : {}),
    })
    const logs = (some: readonly ProcessSpec[]) => some.map(({ log }) => log)
    // Processes on other hosts come up in their own time: those of this one would wait for them.
    if (isWhole) standby.watch(logs(processes), restart)
    return { ...job, logs: logs(processes), workerLogs: logs(processes.filter(({ role }) => role === 'worker')) }
  }
  try {
    const workers = min === undefined ? undefined : { min, max: all.length }
    const own = { isSpread: !isWhole, resumes: resumes(options.script), workers, joins }
    const job = await recovering(start, { ...options, ...own })
    return { ended: job.ended.finally(clean), kill: () => [job.kill(), clean()] }
  } catch (error) {
    clean()
    throw error
  }
}

function jobFile([first]: readonly ProcessSpec[], { servers, workers }: Bound, env: Env): JobFile {
  const { OARFISH_JOB_ID: jobId, OARFISH_JOB_TOKEN: token } = first?.env ?? {}
  return {
    servers: servers.map(({ endpoint }) => endpoint),
    workerNum: workers.length,
    jobId: jobId || undefined,
    token: token === env['OARFISH_JOB_TOKEN'] ? undefined : token,
  }
}

/** The translated command; what was translated is said once, here, not by every process. */
export function commandOf(options: Pick<LaunchOptions, 'script' | 'oarfish' | 'emit'>): readonly string[] {
  const { script, oarfish, emit } = options
  const [file, ...args] = script as [string, ...string[]]
  const words = translateScript(file, args, existsSync)
  const program = words[0] === 'oarfish' ? (words[1] === 'exec' ? words[2] : undefined) : file
  if (program !== undefined && /\.\w+$/.test(program) && !existsSync(program))
    throw file.endsWith('.py')
      ? scriptMissing(file, [file.replace(/\.py$/, '.ts')], suggest(basename(file, '.py'), TOOLS))
      : scriptMissing(file, [])
  if (words[0] !== 'oarfish') return words
  if (file.endsWith('.py')) emit({ kind: 'notice', message: `${script.join(' ')} runs as: ${words.join(' ')}` })
  return [...oarfish, ...words.slice(1)]
}

/** A scheduler that starts one process a pod has already said who this one is. */
function isPaddleCloud(env: Env): boolean {
  return ['PADDLE_TRAINERS', 'POD_IP', 'PADDLE_TRAINER_ID', 'TRAINER_PORTS_NUM'].every((name) => env[name])
}

function asIs({ env, logDir }: LaunchOptions): ProcessSpec {
  const role = env['TRAINING_ROLE'] === 'PSERVER' ? 'server' : 'worker'
  const endpoint = env['PADDLE_PORT'] ? `${env['POD_IP']}:${env['PADDLE_PORT']}` : ''
  const log = join(logDir, `${role}log.0`)
  return { role, rank: Number(env['PADDLE_TRAINER_ID']), endpoint, env, log, sockets: [] }
}

interface Bound {
  readonly servers: readonly BoundAddress[]
  readonly workers: readonly BoundAddress[]
  readonly gloo: BoundAddress | undefined
}

interface BoundAddress {
  readonly host: string
  readonly endpoint: string
  readonly socket: BoundSocket | undefined
}

async function bindAutomatic(
  { servers, workers, gloo, workersListen }: Layout,
  local: ReadonlySet<string>,
): Promise<Bound> {
  const bind = async (address: ProcessAddress): Promise<BoundAddress> => {
    const { host } = address
    if (address.port !== undefined || !local.has(host))
      return { host, endpoint: endpointText(address), socket: undefined }
    const socket = await bindSocket(host)
    return { host, endpoint: endpointText({ host, port: socket.port }), socket }
  }
  const withoutPort = ({ host }: ProcessAddress) => ({ host, endpoint: '', socket: undefined })
  return {
    servers: await Promise.all(servers.map(bind)),
    workers: workersListen ? await Promise.all(workers.map(bind)) : workers.map(withoutPort),
    gloo: gloo && (await bind(gloo)),
  }
}

interface ProcessesOptions {
  readonly bound: Bound
  readonly local: ReadonlySet<string>
  readonly glooFolder: string
  readonly restart: Restart
}

/** Rank r is entry r of the list on every host; logs are numbered by host, as the original numbers them. */
function processesOf(
  options: LaunchOptions,
  { bound, local, glooFolder, restart }: ProcessesOptions,
): readonly ProcessSpec[] {
  const { layout, logDir, logName = (role, index) => `${role}log.${index}` } = options
  const isWhole = [...layout.servers, ...layout.workers].every(({ host }) => local.has(host))
  const hosts = [...new Set([...layout.servers, ...layout.workers].map(({ host }) => host))]
  const named = isWhole ? {} : { OARFISH_JOB_HOSTS: hosts.join(',') }
  const env = { ...named, ...options.env, ...jobVariables(options, isWhole), ...restartEnv(restart) }
  const endpoints = (addresses: readonly BoundAddress[]) => addresses.map(({ endpoint }) => endpoint)
  const workers = layout.workersListen ? endpoints(bound.workers) : []
  const job = { servers: endpoints(bound.servers), workers, workerNum: layout.workers.length }
  const specs = (role: JobRole, addresses: readonly BoundAddress[]) =>
    addresses
      .map((address, rank) => ({ ...address, rank }))
      .filter(({ host }) => local.has(host))
      .map(({ rank, endpoint, socket }, i): ProcessSpec => {
        const own = { role, rank, endpoint }
        const gloo = bound.gloo && { endpoint: bound.gloo.endpoint, folder: glooFolder }
        // Gloo's processes would find each other at server 0, so the socket of that port is its as well.
        const sockets = [socket, role === 'server' && rank === 0 ? bound.gloo?.socket : undefined]
        return {
          ...own,
          env: gloo ? fleetrunEnv(env, job, own, gloo) : launchPsEnv(env, job, own),
          log: join(logDir, logName(role, i)),
          goesOn: restart.number > 0,
          sockets: sockets.filter((each) => each !== undefined),
        }
      })
  return [...specs('server', bound.servers), ...specs('worker', bound.workers)]
}

/** Where this launch is the whole job it names it and gives it a secret; on several hosts each process derives both. */
export function jobVariables(
  { env, jobId, emit }: Pick<LaunchOptions, 'env' | 'jobId' | 'emit'>,
  isWhole: boolean,
): Env {
  const named = jobId ?? env['OARFISH_JOB_ID']
  const { variables } = launchSecrets(env, isWhole, { emit, namesHosts: true })
  if (!isWhole) return { ...(named ? { OARFISH_JOB_ID: named } : {}), ...variables }
  return { OARFISH_JOB_ID: named || env['SYS_JOB_ID'] || randomBytes(6).toString('hex'), ...variables }
}

interface SecretsOptions extends Pick<LaunchOptions, 'emit'> {
  /** Whether the job says where its processes are. */
  readonly namesHosts: boolean
}

/** The job's secret, drawn where this launch sees all of the job; without one it says so, once for all its processes. */
export function launchSecrets(env: Env, isWhole: boolean, { emit, namesHosts }: SecretsOptions) {
  const { token, derivedToken } = isWhole
    ? { token: env['OARFISH_JOB_TOKEN'] || randomBytes(32).toString('hex') }
    : jobToken(env, '')
  if (!derivedToken) return { token, variables: { OARFISH_JOB_TOKEN: token } }
  emit({ kind: 'warning', message: derivedTokenWarning(namesHosts) })
  return { token: undefined, variables: TOKEN_WARNED }
}
