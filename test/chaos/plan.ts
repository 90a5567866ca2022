/** @file What happens in one run of `npm run chaos`: a pure function of seed and number, so that a run can be repeated. */
import { createRng, type Rng } from '../../src/base/util/index.ts'

export const MODES = ['one', 'sync', 'async', 'half_async', 'geo', 'ring', 'ring_divided'] as const
export type Mode = (typeof MODES)[number]

export const FAULT_KINDS = [
  /** SIGKILL to a process. */
  'kill',
  /** To two or more at once. */
  'kill_several',
  /** To the launcher: its processes go with it. */
  'kill_launcher',
  /** Ctrl+C. */
  'interrupt',
  /** SIGSTOP, and SIGCONT well within runner.silence_limit. */
  'pause',
  /** SIGSTOP for longer. */
  'freeze',
  /** A host hears and says nothing, for less than the limit. */
  'partition',
  /** For longer. */
  'outage',
  /** No room where checkpoints go, for a while. */
  'full_disk',
  /** Every write there takes long; then a SIGKILL. */
  'slow_disk',
] as const
/** Of jobs whose size may change: see elastic-plan.ts. Not among those that `planOf` draws from, so that its runs stay what they were. */
export const CHANGE_KINDS = [
  /** SIGTERM to a worker, or to the launcher of a host with ranks: it leaves for good. */
  'leave',
  /** `fleetrun --join`, or one more host. */
  'join',
] as const
type DrawnKind = (typeof FAULT_KINDS)[number]
export type FaultKind = DrawnKind | (typeof CHANGE_KINDS)[number]

export const MOMENTS = ['start', 'training', 'cut', 'save', 'evaluation', 'recovery', 'end'] as const
/** `change`: all stop and save, so that somebody leaves or joins. */
export type Moment = (typeof MOMENTS)[number] | 'change'

export interface Fault {
  readonly kind: FaultKind
  readonly moment: Moment
  /** `worker 1`, or `launcher`, or `host 1`. */
  readonly victims: readonly string[]
  /** Of `training`: where in the data. */
  readonly epoch: number
  readonly batch: number
  /** How long after the moment. */
  readonly afterMs: number
  /** How long it lasts, of those that end. */
  readonly forMs: number
}

export interface Plan {
  readonly seed: number
  readonly number: number
  readonly mode: Mode
  readonly servers: number
  readonly workers: number
  readonly threads: number
  /** Batches between two cuts. */
  readonly interval: number
  readonly hosts: number
  readonly disk: 'plain' | 'small' | 'slow'
  /** Workers, or hosts of one rank each, come and go; at least so many. @default the size is fixed */
  readonly least?: number
  readonly faults: readonly Fault[]
}

/** `runner.silence_limit` of every run, in seconds. */
export const SILENCE_S = 4

export const RINGS: ReadonlySet<Mode> = new Set(['ring', 'ring_divided'])
/** Modes whose model is that of the undisturbed run, bit for bit. Threads of one process step together. */
export const EXACT: ReadonlySet<Mode> = new Set(['one', 'sync', 'ring', 'ring_divided'])
/** Of faults after which a job goes on as if nothing had been: nothing starts again. */
export const HARMLESS: ReadonlySet<FaultKind> = new Set(['pause', 'partition'])

const WEIGHTS: Readonly<Record<DrawnKind, number>> = {
  kill: 10,
  kill_several: 3,
  kill_launcher: 3,
  interrupt: 2,
  pause: 3,
  freeze: 3,
  partition: 2,
  outage: 2,
  full_disk: 2,
  slow_disk: 3,
}
const HOSTS_NEEDED: ReadonlySet<FaultKind> = new Set(['partition', 'outage'])
const DISKS: Partial<Record<FaultKind, Plan['disk']>> = { full_disk: 'small', slow_disk: 'slow' }
const BATCHES_OF_A_WORKER = 100

export interface Wanted {
  readonly modes: readonly Mode[]
  readonly kinds: readonly DrawnKind[]
}

export const EVERYTHING: Wanted = { modes: MODES, kinds: FAULT_KINDS }

export function planOf(seed: number, number: number, { modes, kinds }: Wanted = EVERYTHING): Plan {
  const rng = createRng(BigInt(seed) * 1_000_003n + BigInt(number))
  const kind = pick(
    rng,
    kinds.flatMap((one) => Array.from({ length: WEIGHTS[one] }, () => one)),
  )
  const fitting = modes.filter((mode) => !(HOSTS_NEEDED.has(kind) && mode === 'one'))
  const mode = pick(rng, fitting.length > 0 ? fitting : MODES.slice(1))
  const hosts = HOSTS_NEEDED.has(kind) ? 2 : 1
  const isServed = mode !== 'one' && !RINGS.has(mode)
  const servers = isServed ? Math.max(hosts, 1 + rng.below(2)) : 0
  const workers = mode === 'one' ? 1 : isServed ? Math.max(hosts, 1 + rng.below(3)) : 2 + rng.below(hosts === 1 ? 2 : 1)
  const threads = isServed && workers < 3 ? 1 + rng.below(2) : 1
  const interval = [20, 30, 45][rng.below(3)]!
  const size = { mode, servers, workers, threads, interval, hosts, disk: DISKS[kind] ?? 'plain' } as const
  return { seed, number, ...size, faults: faultsOf(rng, kind, size) }
}

type Size = Pick<Plan, 'mode' | 'servers' | 'workers' | 'hosts'>

function faultsOf(rng: Rng, kind: DrawnKind, size: Size): readonly Fault[] {
  const first = faultOf(rng, kind, pick(rng, MOMENTS_OF[kind]), size)
  if (HARMLESS.has(kind) || rng.uniform() < 0.4) return [first]
  const more = (moments: readonly Moment[]) =>
    faultOf(rng, size.mode === 'one' ? kind : 'kill', pick(rng, moments), size)
  const second = more(['recovery', 'training', 'cut', 'save', 'evaluation'])
  return rng.uniform() < 0.5 ? [first, second] : [first, second, more(['recovery', 'training', 'end'])]
}

const ANY: readonly Moment[] = ['start', 'training', 'training', 'training', 'cut', 'cut', 'save', 'evaluation', 'end']
const RUNNING: readonly Moment[] = ['training', 'training', 'cut', 'save', 'evaluation']
const MOMENTS_OF: Readonly<Record<DrawnKind, readonly Moment[]>> = {
  kill: ANY,
  kill_several: ANY,
  kill_launcher: ANY,
  interrupt: ['training', 'cut', 'evaluation'],
  pause: ['start', ...RUNNING],
  freeze: RUNNING,
  partition: ['training', 'training', 'cut', 'save', 'evaluation'],
  outage: RUNNING,
  full_disk: ['training', 'cut', 'save'],
  slow_disk: ['cut', 'save', 'training'],
}

const LAUNCHERS: ReadonlySet<FaultKind> = new Set(['kill_launcher', 'interrupt'])
export const WAIT_MS: Readonly<Record<Moment, number>> = {
  start: 2000,
  training: 300,
  cut: 40,
  save: 40,
  evaluation: 100,
  recovery: 2000,
  end: 60,
  change: 600,
}

function faultOf(rng: Rng, kind: FaultKind, moment: Moment, size: Size): Fault {
  const isLong = kind === 'freeze' || kind === 'outage'
  return {
    ...{ kind, moment, victims: victimsOf(rng, kind, size) },
    epoch: rng.below(2),
    batch: rng.below(BATCHES_OF_A_WORKER),
    afterMs: Math.round(rng.uniform() * WAIT_MS[moment]),
    forMs: isLong ? SILENCE_S * 1000 + 3000 : 200 + Math.round(rng.uniform() * SILENCE_S * 300),
  }
}

function victimsOf(rng: Rng, kind: FaultKind, { mode, servers, workers, hosts }: Size): readonly string[] {
  if (LAUNCHERS.has(kind)) return ['launcher']
  if (HOSTS_NEEDED.has(kind)) return [`host ${rng.below(hosts)}`]
  if (kind === 'full_disk') return ['disk']
  const all = [...numbered('server', servers), ...numbered('worker', mode === 'one' ? 0 : workers)]
  if (all.length === 0) return ['launcher']
  const shuffled = all.map((name) => ({ name, at: rng.uniform() })).sort((a, b) => a.at - b.at)
  const count = kind === 'kill_several' ? Math.min(all.length, 2 + rng.below(2)) : 1
  return shuffled.slice(0, count).map(({ name }) => name)
}

export const numbered = (role: string, count: number) => Array.from({ length: count }, (_, i) => `${role} ${i}`)
export const pick = <T>(rng: Rng, list: readonly T[]): T => list[rng.below(list.length)]!

export function planText({ seed, number, mode, servers, workers, least, threads, interval, faults }: Plan): string {
  const many = least === undefined ? `${workers}` : `${least} to ${workers}`
  const size = [...(servers > 0 ? [`${servers} servers`] : []), `${many} workers`, `${threads} threads`].join(', ')
  const what = faults
    .map(({ kind, moment, victims }) =>
      [kind, ...(victims.length > 0 ? [`of ${victims.join(' and ')}`] : []), `at ${moment}`].join(' '),
    )
    .join(', then ')
  return `seed ${seed} case ${number}: ${mode} (${size}, a cut every ${interval}): ${what}`
}
