/** @file A launch from flags to processes: who runs here, which ports they get, what they know, where their output goes. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Env } from '../env/index.ts'
import { suggest } from '../util/index.ts'
import type { ProcessSpec } from './child.ts'
import { scriptMissing } from './errors.ts'
import { type JobFile, writeJobFile } from './job-file.ts'
import { endpointText, type Layout, type Place } from './layout.ts'
import { localHosts, type ThisHost, thisHost } from './local-host.ts'
import { makeLogFolder } from './log-folder.ts'
import { fleetrunEnv, type JobRole, launchPsEnv } from './process-env.ts'
import { type BoundSocket, bindSocket } from './sockets.ts'
import { type RunningJob, type SuperviseOptions, superviseJob } from './supervise.ts'
import { TOOLS, translateScript } from './translate.ts'

export interface LaunchOptions extends SuperviseOptions {
  readonly layout: Layout
  /** The script and its arguments, as typed. */
  readonly script: readonly string[]
  readonly logDir: string
  /** The name of a process's log; `index` counts those of its role on this host. @default serverlog.0, workerlog.0 ... */
  readonly logName?: (role: JobRole, index: number) => string
  readonly env: Env
  /** The words that run `oarfish`. */
  readonly oarfish: readonly string[]
  readonly jobId?: string
  readonly here?: ThisHost
}

/** Starts the processes of this host. Nothing is started when anything about the launch is wrong. */
export async function launch(options: LaunchOptions): Promise<RunningJob> {
  const { layout, env, here = thisHost(env['POD_IP']) } = options
  const command = commandOf(options)
  if (isPaddleCloud(env)) {
    await makeLogFolder(options.logDir)
    return superviseJob({ command, processes: [asIs(options)], hasAllWorkers: true }, options)
  }
  const places = [...layout.servers, ...(layout.workersListen ? layout.workers : [])]
  const hosts = places.map(({ host }) => host)
  const local = new Set(await localHosts(hosts, here))
  await makeLogFolder(options.logDir)
  if (!layout.workersListen) for (const { host } of layout.workers) local.add(host)
  const bound = await bindAutomatic(layout, local)
  const glooFolder = mkdtempSync(join(tmpdir(), 'oarfish-gloo-'))
  const processes = processesOf(options, bound, local, glooFolder)
  const hasAllWorkers = layout.workers.every(({ host }) => local.has(host))
  const job = superviseJob({ command, processes, hasAllWorkers }, options)
  const forget = writeJobFile(options.logDir, jobFile(processes, bound, env))
  const clean = () => {
    rmSync(glooFolder, { recursive: true, force: true })
    forget()
  }
  return { ended: job.ended.finally(clean), kill: () => [job.kill(), clean()] }
}

function jobFile([first]: readonly ProcessSpec[], { servers, workers }: Bound, env: Env): JobFile {
  const { OARFISH_JOB_ID: jobId, OARFISH_JOB_TOKEN: token } = first?.env ?? {}
  return {
    servers: servers.map(({ endpoint }) => endpoint),
    workerNum: workers.length,
    ...(jobId && { jobId }),
    ...(token && token !== env['OARFISH_JOB_TOKEN'] && { token }),
  }
}

/** The translated command; what was translated is said once, here, not by every process. */
export function commandOf({
  script,
  oarfish,
  emit,
}: Pick<LaunchOptions, 'script' | 'oarfish' | 'emit'>): readonly string[] {
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
  readonly servers: readonly BoundPlace[]
  readonly workers: readonly BoundPlace[]
  readonly gloo: BoundPlace | undefined
}

interface BoundPlace {
  readonly host: string
  readonly endpoint: string
  readonly socket: BoundSocket | undefined
}

async function bindAutomatic(
  { servers, workers, gloo, workersListen }: Layout,
  local: ReadonlySet<string>,
): Promise<Bound> {
  const bind = async (place: Place): Promise<BoundPlace> => {
    const { host } = place
    if (place.port !== undefined || !local.has(host)) return { host, endpoint: endpointText(place), socket: undefined }
    const socket = await bindSocket(host)
    return { host, endpoint: endpointText({ host, port: socket.port }), socket }
  }
  const withoutPort = ({ host }: Place) => ({ host, endpoint: '', socket: undefined })
  return {
    servers: await Promise.all(servers.map(bind)),
    workers: workersListen ? await Promise.all(workers.map(bind)) : workers.map(withoutPort),
    gloo: gloo && (await bind(gloo)),
  }
}

/** Rank r is entry r of the list on every host; logs are numbered by host, as the original numbers them. */
function processesOf(
  options: LaunchOptions,
  bound: Bound,
  local: ReadonlySet<string>,
  glooFolder: string,
): readonly ProcessSpec[] {
  const { layout, logDir, logName = (role, index) => `${role}log.${index}` } = options
  const env = { ...options.env, ...jobVariables(options, local) }
  const endpoints = (places: readonly BoundPlace[]) => places.map(({ endpoint }) => endpoint)
  const workers = layout.workersListen ? endpoints(bound.workers) : []
  const job = { servers: endpoints(bound.servers), workers, workerNum: layout.workers.length }
  const specs = (role: JobRole, places: readonly BoundPlace[]) =>
    places
      .map((place, rank) => ({ ...place, rank }))
      .filter(({ host }) => local.has(host))
      .map(({ rank, endpoint, socket }, i): ProcessSpec => {
        const own = { role, rank, endpoint }
        const gloo = bound.gloo && { endpoint: bound.gloo.endpoint, folder: glooFolder }
        // Server 0 is where Gloo would meet, so the socket of that port is its as well.
        const sockets = [socket, role === 'server' && rank === 0 ? bound.gloo?.socket : undefined]
        return {
          ...own,
          env: gloo ? fleetrunEnv(env, job, own, gloo) : launchPsEnv(env, job, own),
          log: join(logDir, logName(role, i)),
          sockets: sockets.filter((each) => each !== undefined),
        }
      })
  return [...specs('server', bound.servers), ...specs('worker', bound.workers)]
}

/** Where this launch is the whole job it names it and gives it a secret; on several hosts each process derives both. */
function jobVariables({ layout, env, jobId }: LaunchOptions, local: ReadonlySet<string>): Env {
  const isWhole = [...layout.servers, ...layout.workers].every(({ host }) => local.has(host))
  const named = jobId ?? env['OARFISH_JOB_ID']
  if (!isWhole) return named ? { OARFISH_JOB_ID: named } : {}
  return {
    OARFISH_JOB_ID: named || env['SYS_JOB_ID'] || randomBytes(6).toString('hex'),
    OARFISH_JOB_TOKEN: env['OARFISH_JOB_TOKEN'] || randomBytes(32).toString('hex'),
  }
}
