/** @file Which processes a launcher's flags ask for and where each listens. Pure: a port that is still open is undefined. */
import { type Env, parseEndpoint, parseEndpoints, splitList } from '../../base/env/index.ts'
import { launchFlagError, notInBuild } from './errors.ts'

/** The flags that say what runs where, by their own names. */
export type FleetrunFlags = Flags<
  'workers' | 'servers' | 'trainers' | 'run_mode' | 'job_id' | 'elastic_server' | 'np',
  'server_num' | 'trainer_num' | 'http_port'
> & { readonly worker_num?: number | string }

export type LaunchPsFlags = Flags<'endpoints', 'worker_num' | 'server_num' | 'start_port'>

/** Texts and whole numbers, where they were typed. */
export type Flags<Texts extends string, Numbers extends string> = {
  readonly [Name in Texts | Numbers]?: Name extends Texts ? string : number
}

export interface ProcessAddress {
  readonly host: string
  /** Undefined: automatic, bound by the launcher and handed to the process. */
  readonly port: number | undefined
}

export interface Layout {
  readonly servers: readonly ProcessAddress[]
  readonly workers: readonly ProcessAddress[]
  /** PADDLE_GLOO_HTTP_ENDPOINT; launch_ps has none. */
  readonly gloo: ProcessAddress | undefined
  /** Paddle 1.x gives workers no endpoint. */
  readonly workersListen: boolean
  /** So many workers at least, where some may leave and join; `workers` are all there may be. @default as many as `workers` */
  readonly leastWorkers?: number | undefined
}

const LOOPBACK = '127.0.0.1'
const FIXED_PORT = 6170 // Paddle's first port where it cannot choose a free one

export function fleetrunLayout(flags: FleetrunFlags, env: Env): Layout {
  checkMode(flags)
  const range = flags.worker_num === undefined ? undefined : workerRange(String(flags.worker_num))
  const startPort = portIn(env, 'FLAGS_START_PORT')
  const automatic = (count: number, offset: number): readonly ProcessAddress[] =>
    Array.from({ length: count }, (_, i) => ({
      host: LOOPBACK,
      port: startPort === undefined ? undefined : startPort + offset + i,
    }))
  const servers =
    listed('server', flags.server_num, flags.servers, withPort) ?? automatic(count('server', flags.server_num), 0)
  const workerNum = range?.max ?? flags.trainer_num
  const lists = flags.workers ?? flags.trainers
  const isElastic = range !== undefined && range.min < range.max
  if (isElastic && (lists ?? flags.servers) !== undefined)
    throw launchFlagError(
      `--worker_num ${flags.worker_num} is of jobs on one host: it cannot stand beside lists of hosts.`,
      'Give one number, or leave out --workers and --servers.',
    )
  const workers =
    listed('worker', workerNum, lists, (entries) => withPorts(entries, servers.length)) ??
    automatic(count('worker', workerNum), servers.length)
  checkDistinct([...servers, ...workers])
  const layout = { servers, workers, gloo: glooAddress(flags, servers, workers, automatic), workersListen: true }
  return isElastic ? { ...layout, leastWorkers: range.min } : layout
}

/** Server i listens on start_port + i unless `endpoints` says otherwise; workers have no port. */
export function launchPsLayout(flags: LaunchPsFlags): Layout {
  const { worker_num = 2, start_port = FIXED_PORT } = flags
  const servers =
    listed('server', flags.server_num, flags.endpoints, withPort, 'endpoints') ??
    Array.from({ length: flags.server_num ?? 2 }, (_, i) => ({ host: LOOPBACK, port: start_port + i }))
  if (servers.length === 0 || worker_num === 0)
    throw launchFlagError('launch_ps: at least one server and one worker are needed.')
  const workers = Array.from({ length: worker_num }, () => ({ host: LOOPBACK, port: undefined }))
  return { servers, workers, gloo: undefined, workersListen: false }
}

/** Paddle 1.x's layout on ports that are free. */
export function localLayout(serverNum: number, workerNum: number, workersListen = false): Layout {
  const addresses = (count: number) => Array.from({ length: count }, () => ({ host: LOOPBACK, port: undefined }))
  return { servers: addresses(serverNum), workers: addresses(workerNum), gloo: undefined, workersListen }
}

const SERVER_FLAGS = ['worker_num', 'server_num', 'workers', 'servers', 'trainer_num', 'trainers', 'http_port'] as const

/** Whether flags ask for ranks that are all alike, without servers; as in the original unless servers are asked for. */
export function isCollective({ run_mode, ...flags }: FleetrunFlags): boolean {
  if (run_mode === 'collective') return true
  return run_mode === undefined && !SERVER_FLAGS.some((name) => flags[name] !== undefined)
}

function checkMode(flags: FleetrunFlags): void {
  const { run_mode } = flags
  if (run_mode === 'ps-heter')
    throw launchFlagError('--run_mode=ps-heter: heterogeneous training is not part of Oarfish.')
  if (run_mode !== undefined && run_mode !== 'ps' && run_mode !== 'collective')
    throw launchFlagError(`--run_mode: expected ps or collective, got "${run_mode}".`)
  if (flags.elastic_server && flags.job_id && flags.np) throw notInBuild('Elastic jobs are not in this build.')
}

/** `4`, or `2:4`: from so many to so many. */
export function workerRange(text: string): { readonly min: number; readonly max: number } {
  const [, least, most = least] = /^(\d{1,6})(?::(\d{1,6}))?$/.exec(text) ?? []
  const [min, max] = [Number(least), Number(most)]
  if (least === undefined || min > max || (min === 0 && max > 0))
    throw launchFlagError(
      `--worker_num: expected a number of workers or min:max, got "${text}".`,
      'Write --worker_num 2 or 2:4.',
    )
  return { min, max }
}

/** The port that a variable names. */
export function portIn(env: Env, name: string): number | undefined {
  const text = env[name]
  if (!text) return undefined
  const port = Number(text)
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw launchFlagError(`${name}: expected a port, got "${text}".`)
}

/** The addresses of a list, whose length must agree with the number beside it; undefined when there is no list. */
function listed(
  role: 'server' | 'worker',
  number: number | undefined,
  list: string | undefined,
  parse: (entries: readonly string[]) => readonly ProcessAddress[],
  flag = `${role}s`,
): readonly ProcessAddress[] | undefined {
  const entries = splitList(list ?? '')
  if (entries.length === 0) return undefined
  if (number !== undefined && number !== entries.length)
    throw launchFlagError(
      `The ${role}_num and ${flag} doesn't match: --${role}_num=${number}, but --${flag} has ${entries.length}.`,
      `Leave out --${role}_num.`,
    )
  return parse(entries)
}

function count(role: 'server' | 'worker', number: number | undefined): number {
  if (number === undefined)
    throw launchFlagError(`The setting of Parameter-Server must has ${role}_num or ${role}s.`, `Add --${role}_num=1`)
  if (number === 0) throw launchFlagError(`--${role}_num: at least one ${role} is needed.`)
  return number
}

function withPort(entries: readonly string[]): readonly ProcessAddress[] {
  return parseEndpoints('--servers', entries.join(',')).map((entry) => parseEndpoint(entry)!)
}

/** Workers may be hosts alone: then all of them get fixed ports, the same on every host that runs the command. */
function withPorts(entries: readonly string[], serverNum: number): readonly ProcessAddress[] {
  const hasPort = (entry: string) => /:\d+$/.test(entry)
  if (entries.every(hasPort))
    return parseEndpoints('--workers', entries.join(',')).map((entry) => parseEndpoint(entry)!)
  return entries.map((entry, i) => ({ host: entry.replace(/:\d+$/, ''), port: FIXED_PORT + serverNum + i }))
}

function checkDistinct(addresses: readonly ProcessAddress[]): void {
  const names = addresses.filter(({ port }) => port !== undefined).map(endpointText)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw launchFlagError(`${twice} is asked for twice: two processes cannot share an endpoint.`)
}

function glooAddress(
  { http_port }: FleetrunFlags,
  servers: readonly ProcessAddress[],
  workers: readonly ProcessAddress[],
  automatic: (count: number, offset: number) => readonly ProcessAddress[],
): ProcessAddress {
  const { host } = servers[0]!
  const used = servers.length + workers.length
  if (http_port !== undefined) return { host, port: http_port }
  const [{ port }] = automatic(1, used) as [ProcessAddress]
  // The hosts of a job must agree on the port without talking to each other, so there it cannot be an automatic one.
  const alone = [...servers, ...workers].every((other) => other.host === host)
  return { host, port: port ?? (alone ? undefined : FIXED_PORT + used) }
}

/** `host:port`; only where the port is known. */
export function endpointText({ host, port }: ProcessAddress): string {
  return `${host}:${port}`
}
