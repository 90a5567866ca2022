/** @file What the flags of a collective job ask for: hosts, processes, devices, the master. Pure. */
import { type Env, splitList } from '../../base/env/index.ts'
import { deviceRequired, launchFlagError, loopbackInIps, moreThanDevices, noSuchDevice } from './errors.ts'
import { type Flags, portIn } from './layout.ts'

/** By their own names, of both generations of the original. */
export type CollectiveFlags = Flags<
  'ips' | (typeof DEVICE_FLAGS)[number] | 'nnodes' | 'master' | 'host' | 'job_id' | 'sort_ip',
  'nproc_per_node' | 'rank' | 'start_port' | 'max_restart' | 'elastic_timeout'
> & { readonly require_device?: boolean }

export interface CollectiveLayout {
  /** Hosts in the order of ranks; empty: found at the master. */
  readonly hosts: readonly string[]
  /** For each process of a host the indices of its devices among the visible ones; a list may be empty. */
  readonly devices: readonly (readonly number[])[]
  /** The port of a host's first process; undefined: automatic. */
  readonly startPort: number | undefined
  /** How many hosts come to the master. */
  readonly nodes: { readonly min: number; readonly max: number }
  /** Where they find each other; undefined with several nodes: here, on an automatic port. */
  readonly master: string | undefined
  /** This host among them, when a flag says so; and its name. */
  readonly nodeRank: number | undefined
  readonly host: string | undefined
  readonly sortByAddress: boolean
  readonly maxRestart: number
  readonly elasticTimeoutMs: number
  /** What its processes are told to compute on: `gpu` after --gpus; '' where that was asked for in vain; undefined: as their configuration says. */
  readonly device: 'gpu' | '' | undefined
  /** Worth saying before anything starts. */
  readonly notices: readonly string[]
}

const LOOPBACK = '127.0.0.1'
const START_PORT = 6070

/** What a host has to compute on. */
export interface HostDevices {
  /** All of them, before CUDA_VISIBLE_DEVICES chooses. */
  readonly count: number
  /** What was looked for in vain, in a sentence. */
  readonly lookedFor: string
}

const NONE: HostDevices = { count: 0, lookedFor: '' }

export function collectiveLayout(flags: CollectiveFlags, env: Env, host: HostDevices = NONE): CollectiveLayout {
  const nodes = nodesOf(flags.nnodes ?? '1')
  const hosts = hostsOf(flags, env, nodes.max)
  const devices = devicesOf(flags, env, host.count)
  const notices = deviceNotices(flags, env, devices.length, host)
  const named = flags.start_port ?? portIn(env, 'FLAGS_START_PORT') ?? cloudPort(env, devices.length)
  return {
    hosts,
    devices,
    startPort: named ?? (hosts.length > 1 ? START_PORT : undefined),
    nodes,
    master: flags.master,
    nodeRank: flags.rank,
    host: flags.host ?? env['POD_IP'],
    sortByAddress: /^(1|true|t|yes|y|on)$/i.test(flags.sort_ip ?? ''),
    maxRestart: flags.max_restart ?? 3,
    elasticTimeoutMs: (flags.elastic_timeout ?? 30) * 1000,
    device: notices.length > 0 ? '' : DEVICE_FLAGS.some((name) => flags[name] !== undefined) ? 'gpu' : undefined,
    notices,
  }
}

function nodesOf(text: string): CollectiveLayout['nodes'] {
  const [, min, max = min] = /^(\d+)(?::(\d+))?$/.exec(text) ?? []
  const nodes = { min: Number(min), max: Number(max) }
  if (nodes.min >= 1 && nodes.max >= nodes.min) return nodes
  throw launchFlagError(`--nnodes: expected a number of hosts or min:max, got "${text}".`, 'Write --nnodes 2 or 1:4.')
}

function hostsOf({ ips, master }: CollectiveFlags, env: Env, nodes: number): readonly string[] {
  // A scheduler that starts a launcher in every pod names the pods.
  const hosts = splitList(ips ?? (env['TRAINER_PORTS_NUM'] ? (env['PADDLE_TRAINERS'] ?? '') : ''))
  if (hosts.length > 1 && (hosts.includes(LOOPBACK) || hosts.includes('localhost'))) throw loopbackInIps(hosts)
  const twice = hosts.find((host, i) => hosts.indexOf(host) !== i)
  if (twice !== undefined) throw launchFlagError(`--ips: ${twice} is listed twice.`, 'List every host once.')
  if (hosts.length > 0) {
    if (master) throw launchFlagError('--ips and --master cannot stand together.', 'Leave out --master.')
    return hosts
  }
  return master || nodes > 1 ? [] : [LOOPBACK]
}

const DEVICE_FLAGS = ['devices', 'gpus', 'selected_gpus', 'xpus', 'selected_xpus', 'npus'] as const

function devicesOf(flags: CollectiveFlags, env: Env, deviceCount: number): CollectiveLayout['devices'] {
  const flag = DEVICE_FLAGS.find((name) => flags[name] !== undefined)
  const ids = splitList(flag ? flags[flag]! : '')
  const visible = splitList(env['CUDA_VISIBLE_DEVICES'] ?? '')
  // Without devices those that the variable shows count all the same, unless a number of processes is asked for.
  const shown = deviceCount === 0 ? byVariable(flags, env).length : Math.min(visible.length, deviceCount)
  const count = visible.length > 0 ? shown : deviceCount
  const missing = ids.find((id) => deviceCount > 0 && Number(id) >= deviceCount)
  if (missing !== undefined) throw noSuchDevice(flag!, missing, deviceCount)
  const chosen =
    ids.length > 0 ? ids.map((id) => indexOf(id, flag!, visible)) : Array.from({ length: count }, (_, i) => i)
  const { nproc_per_node: asked } = flags
  if (asked === 0) throw launchFlagError('--nproc_per_node: at least one process is needed.')
  const processes = asked ?? Math.max(1, chosen.length)
  if (deviceCount > 0 && processes > count) throw moreThanDevices(processes, count)
  if (chosen.length === 0) return Array.from({ length: processes }, () => [])
  if (chosen.length % processes !== 0)
    throw launchFlagError(
      `gpus' number:${chosen.length} mod args.nproc_per_node:${processes} must == 0`,
      'Every process gets as many devices: name a multiple of --nproc_per_node.',
    )
  const each = chosen.length / processes
  return Array.from({ length: processes }, (_, i) => chosen.slice(i * each, (i + 1) * each))
}

/** Devices that CUDA_VISIBLE_DEVICES alone decides about; -1 and the like stand for none. */
function byVariable(flags: CollectiveFlags, env: Env): readonly string[] {
  if (flags.nproc_per_node !== undefined || DEVICE_FLAGS.some((name) => flags[name] !== undefined)) return []
  return splitList(env['CUDA_VISIBLE_DEVICES'] ?? '').filter((id) => /^(\d+|(GPU|MIG)-.+)$/.test(id))
}

/** Ids are those of the machine; processes see those that CUDA_VISIBLE_DEVICES shows, counted from 0. */
function indexOf(id: string, flag: string, visible: readonly string[]): number {
  if (!/^\d+$/.test(id))
    throw launchFlagError(`--${flag}: expected numbers of devices, got "${id}".`, 'Write --gpus 0,1')
  if (visible.length === 0) return Number(id)
  const index = visible.indexOf(id)
  if (index >= 0) return index
  throw launchFlagError(
    `Can't find your gpus ${id} in CUDA_VISIBLE_DEVICES[${visible.join(',')}].`,
    `Name some of ${visible.join(',')}, or unset CUDA_VISIBLE_DEVICES.`,
  )
}

/** Without a device processes are started as they were asked for, and compute on the CPU. */
function deviceNotices(
  flags: CollectiveFlags,
  env: Env,
  processes: number,
  { count, lookedFor }: HostDevices,
): readonly string[] {
  if (count > 0) return []
  if (flags.require_device) throw deviceRequired(lookedFor)
  const flag = DEVICE_FLAGS.find((name) => flags[name] !== undefined)
  const shown = byVariable(flags, env)
  if (!flag && shown.length < 2) return []
  const what = processes === 1 ? 'one process' : `${processes} processes`
  const cause = flag ? `--${flag} ${flags[flag]}` : `CUDA_VISIBLE_DEVICES=${shown.join(',')}`
  return [`No device was found: ${cause} starts ${what} on the CPU. ${lookedFor}`]
}

/** Pods have their ports from the scheduler, when it gave enough. */
function cloudPort(env: Env, processes: number): number | undefined {
  const given = env['TRAINER_PORTS_NUM']
  if (!given || !env['PADDLE_TRAINERS']) return undefined
  return Number(given) >= processes ? portIn(env, 'PADDLE_PORT') : 6170
}

/** Variables that stand above flags, as in the original. */
const OVERRIDES: { readonly [K in keyof CollectiveFlags]?: string } = {
  host: 'POD_IP',
  master: 'PADDLE_MASTER',
  devices: 'PADDLE_DEVICES',
  nnodes: 'PADDLE_NNODES',
  sort_ip: 'PADDLE_SORT_IP',
  nproc_per_node: 'PADDLE_NPROC_PER_NODE',
  job_id: 'PADDLE_JOB_ID',
  rank: 'PADDLE_RANK',
  max_restart: 'PADDLE_MAX_RESTART',
  elastic_timeout: 'PADDLE_ELASTIC_TIMEOUT',
  start_port: 'PADDLE_START_PORT',
  ips: 'PADDLE_IPS',
}
const NUMBERS = ['nproc_per_node', 'rank', 'max_restart', 'elastic_timeout', 'start_port']

/** The flags with what the environment says instead, and a line for each. */
export function overrideByEnv(flags: CollectiveFlags, env: Env) {
  const found = Object.entries(OVERRIDES).filter(([, name]) => env[name])
  const values = found.map(([flag, name]) => {
    const text = env[name]!
    if (!NUMBERS.includes(flag)) return [flag, text]
    if (!/^\d+$/.test(text)) throw launchFlagError(`${name}: expected a whole number, got "${text}".`)
    return [flag, Number(text)]
  })
  const notices = found.map(
    ([flag, name]) => `LAUNCH WARNING args ${flag} will be overridden by env: ${name} value: ${env[name]}`,
  )
  return { flags: { ...flags, ...Object.fromEntries(values) } as CollectiveFlags, notices }
}
