/** @file A schedule: the size of a job and all that befalls it. Its result is compared with a plain model: every sample once an epoch; in sync, the steps of a job that nothing befalls. */
import fc from 'fast-check'
import { type Crash, SimJob, type SizeChange } from './job.ts'
import { SIM_MODES } from './server.ts'
import type { JobSize, Saved } from './worker.ts'
import { type NetworkFaults, World } from './world.ts'

export interface Schedule {
  readonly seed: number
  readonly size: JobSize
  readonly faults: NetworkFaults
  readonly crashes: readonly Crash[]
  readonly changes?: readonly SizeChange[]
}

export const CALM: NetworkFaults = { drop: 0, repeat: 0, delayMs: 0, partitions: [] }
/** Of virtual time: no schedule takes as long unless it hangs. */
const LIMIT_MS = 60 * 1000

const name = fc.oneof(
  fc.nat(2).map((rank) => `worker ${rank}`),
  fc.nat(1).map((rank) => `server ${rank}`),
)
const moment = fc.nat(800)
const network = fc.record({
  drop: fc.double({ min: 0, max: 0.2, noNaN: true }),
  repeat: fc.double({ min: 0, max: 0.3, noNaN: true }),
  delayMs: fc.nat(40),
})

/** Names that a job does not have strike nobody. */
export const schedules: fc.Arbitrary<Schedule> = fc.record({
  seed: fc.nat(),
  size: fc.record({
    mode: fc.constantFrom(...SIM_MODES),
    workers: fc.integer({ min: 1, max: 3 }),
    servers: fc.integer({ min: 1, max: 2 }),
    epochs: fc.integer({ min: 1, max: 2 }),
    chunks: fc.integer({ min: 1, max: 6 }),
    samplesPerChunk: fc.integer({ min: 1, max: 3 }),
    interval: fc.integer({ min: 1, max: 4 }),
  }),
  faults: fc
    .tuple(
      fc.oneof({ arbitrary: network, weight: 4 }, { arbitrary: fc.constant(CALM), weight: 1 }),
      fc.array(fc.record({ who: name, fromMs: moment, forMs: fc.nat(300) }), { maxLength: 2 }),
    )
    .map(([shares, partitions]) => ({ ...shares, partitions })),
  crashes: fc.array(fc.record({ atMs: moment, who: fc.oneof(name, fc.constant('launcher')) }), { maxLength: 4 }),
})

/** The same, and workers leave and join. */
export const elasticSchedules: fc.Arbitrary<Schedule> = fc
  .tuple(schedules, fc.array(fc.record({ atMs: moment, workers: fc.integer({ min: 1, max: 4 }) }), { maxLength: 4 }))
  .map(([schedule, changes]) => ({ ...schedule, changes }))

export interface Outcome {
  readonly problems: readonly string[]
  readonly restarts: number
  readonly byHand: number
  readonly resizes: number
}

export function runSchedule({ seed, size, faults, crashes, changes = [] }: Schedule): Outcome {
  const world = new World(seed, faults)
  const job = new SimJob(world, size, crashes, changes)
  const isOver = world.run(() => job.isDone, LIMIT_MS)
  const { restarts, byHand, resizes } = job
  if (!isOver) return { problems: ['it hangs'], restarts, byHand, resizes }
  const bits = size.mode === 'sync' && resizes === 0 ? sameSteps(job.result, undisturbed(size)) : []
  return { problems: [...countedOnce(job.result, size), ...bits], restarts, byHand, resizes }
}

function countedOnce({ epoch, tables }: Saved, { epochs, chunks, samplesPerChunk }: JobSize): readonly string[] {
  const counts = new Map(tables.flatMap((table) => [...table.counts]))
  const samples = Array.from({ length: chunks * samplesPerChunk }, (_, sample) => sample)
  const wrong = samples.filter((sample) => counts.get(sample) !== epochs)
  const text = wrong.map((sample) => `sample ${sample} ${counts.get(sample) ?? 0} times`).join(', ')
  return [...(epoch === epochs ? [] : [`epoch ${epoch} of ${epochs}`]), ...(wrong.length > 0 ? [text] : [])]
}

function undisturbed(size: JobSize): Saved {
  const world = new World(0, CALM)
  const job = new SimJob(world, size, [])
  world.run(() => job.isDone, LIMIT_MS)
  return job.result
}

function sameSteps({ tables }: Saved, { tables: expected }: Saved): readonly string[] {
  const isSame = tables.every(({ digest }, server) => digest === expected[server]!.digest)
  return isSame ? [] : ['its steps are not those of the undisturbed job']
}
