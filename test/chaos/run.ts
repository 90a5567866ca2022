/** @file One run of a plan on real processes, from an empty folder to what is wrong with the result. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openNetwork } from '../netns/network.testing.ts'
import { freePorts } from '../ports.testing.ts'
import { checkBits, checkCounts, checkLeft, digestOfRun } from './check.ts'
import { mountSmallDisk, type Scene, STRIKES, unmountSmallDisk } from './faults.ts'
import { ChaosJob, type Place } from './job.ts'
import { EXACT, type Fault, HARMLESS, type Plan } from './plan.ts'
import { isCut, isRestart, reach, Timeline } from './timeline.ts'

export interface RunResult {
  readonly seed: number
  readonly number: number
  readonly mode: Plan['mode']
  readonly fault: Fault['kind']
  /** What is wrong; nothing: the run is good. */
  readonly problems: readonly string[]
  /** Faults that struck, of those planned. */
  readonly struck: number
  readonly planned: number
  /** Starts by the launcher itself, and by hand with --resume. */
  readonly restarts: number
  readonly resumes: number
  /** From each SIGKILL to the first batch after it, where the launcher started the job again. */
  readonly recoveryMs: readonly number[]
  readonly seconds: number
}

/** Where all runs of a session have their things. */
export interface Ground {
  readonly folder: string
  readonly root: string
  /** What undisturbed runs end with, by size and mode. */
  readonly digests: Map<string, string>
}

const BY_HAND = 5

/** A fault that struck. */
interface Struck {
  readonly fault: Fault
  readonly atMs: number
  /** When it was over. */
  readonly untilMs: number
}

export async function runPlan(plan: Plan, ground: Ground): Promise<RunResult> {
  const began = Date.now()
  const isExact = EXACT.has(plan.mode) && plan.least === undefined // steps of another size are others
  const undisturbed = isExact ? await undisturbedDigest(plan, ground) : undefined
  const run = await disturbed(plan, ground, `${plan.seed}-${plan.number}`)
  const { place, job, timeline, struck, codes } = run
  try {
    const ended = checkEnds(plan, run)
    const isOver = codes.at(-1)?.every((code) => code === 0) ?? false
    const model = isOver
      ? [...checkCounts(place.saves), ...(undisturbed ? checkBits(place.saves, undisturbed) : [])]
      : []
    const problems = [...ended, ...model, ...(await checkLeft(job, place, timeline))]
    return {
      ...{ seed: plan.seed, number: plan.number, mode: plan.mode, fault: plan.faults[0]!.kind, problems },
      ...{ struck: struck.length, planned: plan.faults.length, recoveryMs: recoveries(timeline, struck) },
      restarts: timeline.told.filter(({ event }) => isRestart(event)).length - (codes.length - 1),
      ...{ resumes: codes.length - 1, seconds: (Date.now() - began) / 1000 },
    }
  } finally {
    job.kill()
    run.close()
  }
}

interface Disturbed extends Scene {
  readonly struck: readonly Struck[]
  /** Of each start by hand, one a host. */
  readonly codes: readonly (readonly (number | undefined)[])[]
  close(): void
}

async function disturbed(plan: Plan, { root, folder }: Ground, name: string): Promise<Disturbed> {
  const own = join(root, name)
  rmSync(own, { recursive: true, force: true })
  mkdirSync(own, { recursive: true })
  const network = plan.hosts > 1 ? await openNetwork({ name: 'chaos', hosts: plan.hosts }) : undefined
  const saves = plan.disk === 'small' ? mountSmallDisk(own) : join(own, 'saved')
  const [meeting = 0] = await freePorts(1)
  const place: Place = { folder, own, saves, hosts: network?.hosts ?? [], meeting }
  const timeline = new Timeline()
  const job = new ChaosJob(plan, place, timeline)
  const scene = { job, place, timeline }
  const over = new AbortController()
  const struck: Struck[] = []
  const holding: Holding = { disk: undefined }
  const striking = strikeAll(plan.faults, scene, { struck, holding }, over.signal).catch(() => undefined)
  const codes: (readonly (number | undefined)[])[] = []
  for (let resumes = 0; resumes <= BY_HAND; resumes++) {
    if (resumes > 0) timeline.add({ kind: 'notice', message: 'Starting again by hand, with --resume.' })
    const now = await job.start(resumes > 0).codes
    codes.push(now)
    if (now.some((code) => code === undefined) || now.every((code) => code === 0)) break
    // What a fault still holds, it holds against the next start too; but nobody starts again while the disk that ended it is full.
    await settled(job)
    await holding.disk
  }
  over.abort(new Error('the job is over'))
  await striking
  const close = () => {
    network?.close()
    if (plan.disk === 'small') unmountSmallDisk(own)
  }
  return { ...scene, struck, codes, close }
}

/** Processes end with their launcher, also when it was killed. */
async function settled(job: ChaosJob): Promise<void> {
  await job.left()
}

/** The fault under way that leaves no room on the disk, until it has. */
interface Holding {
  disk: Promise<unknown> | undefined
}

async function strikeAll(
  faults: readonly Fault[],
  scene: Scene,
  { struck, holding }: { readonly struck: Struck[]; readonly holding: Holding },
  signal: AbortSignal,
): Promise<void> {
  let from = 0
  for (const fault of faults) {
    await reach(fault, { timeline: scene.timeline, saves: scene.place.saves, from, signal })
    await sleep(fault.afterMs, undefined, { signal })
    from = scene.timeline.told.length
    const atMs = Date.now()
    const strike = STRIKES[fault.kind](fault, scene)
    if (fault.kind === 'full_disk') holding.disk = strike
    if (await strike) struck.push({ fault, atMs, untilMs: Date.now() })
  }
}

/** How the starts ended: well in the end, badly only where something struck, by themselves where that is promised. */
function checkEnds(plan: Plan, { codes, struck, timeline }: Disturbed): readonly string[] {
  const last = codes.at(-1)!
  if (last.some((code) => code === undefined)) return ['it hung']
  const problems = last.every((code) => code === 0)
    ? []
    : [`it still ends with ${last.join(', ')} after ${BY_HAND} starts by hand`]
  const bad = codes.slice(0, -1)
  if (bad.length > struck.length)
    problems.push(`${bad.length} starts ended badly (${bad.join('; ')}), ${struck.length} faults`)
  const isHarmless = plan.faults.every(({ kind }) => HARMLESS.has(kind))
  const restarts = timeline.told.filter(({ event }) => isRestart(event)).length
  if (isHarmless && restarts > 0)
    problems.push(`it was started again ${restarts} times after what it should have waited out`)
  if (recoversItself(plan, struck, timeline) && bad.length > 0)
    problems.push(`it did not go on by itself (${bad.join('; ')})`)
  return problems
}

const KILLS = new Set(['kill', 'kill_several', 'slow_disk'])
const SURELY_MS = 1000

/** SIGKILL of processes that a launcher of one host watches, after a first cut; and changes that leave enough of them. */
function recoversItself(
  { mode, hosts, workers, least = workers }: Plan,
  struck: readonly Struck[],
  { told }: Timeline,
) {
  const first = struck[0]
  if (!first || mode === 'one' || hosts > 1) return false
  if (!struck.every(({ fault: { kind } }) => KILLS.has(kind) || kind === 'leave' || kind === 'join')) return false
  if (struck.filter(({ fault }) => fault.kind === 'leave').length > workers - least) return false
  return told.some(({ event, atMs }) => isCut(event) && atMs < first.atMs - SURELY_MS)
}

/** From each kill to the first batch after the launcher's new start, where no other fault came between. */
function recoveries({ told }: Timeline, struck: readonly Struck[]): readonly number[] {
  return struck.flatMap(({ fault, atMs }, i) => {
    if (!KILLS.has(fault.kind)) return []
    const again = told.findIndex(({ event, atMs: at }) => at >= atMs && isRestart(event))
    const first = again < 0 ? undefined : told.slice(again).find(({ event }) => event.kind === 'batch')
    const isByHand = again >= 0 && /by hand/.test(JSON.stringify(told[again]!.event))
    if (!first || isByHand || (struck[i + 1] && struck[i + 1]!.atMs < first.atMs)) return []
    return [first.atMs - atMs]
  })
}

async function undisturbedDigest(plan: Plan, ground: Ground): Promise<string> {
  const { mode, servers, workers, threads } = plan
  const key = `${mode} ${servers} ${workers} ${threads}`
  const known = ground.digests.get(key)
  if (known) return known
  // On one host, on a good disk: neither makes a difference.
  const quiet: Plan = { ...plan, faults: [], hosts: 1, disk: 'plain' }
  const { codes, place, close } = await disturbed(quiet, ground, `undisturbed-${key.replaceAll(' ', '-')}`)
  close()
  const wrong = codes[0]!.every((code) => code === 0) ? checkCounts(place.saves) : [`it ended with ${codes[0]}`]
  if (codes.length > 1 || wrong.length > 0) throw new Error(`the undisturbed run ${key} failed: ${wrong.join('; ')}`)
  const digest = digestOfRun(place.saves)
  ground.digests.set(key, digest)
  return digest
}
