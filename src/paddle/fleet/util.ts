/** @file fleet.util: files dealt out to workers, and numbers exchanged between them. */
import type { Cluster } from '../../base/env/index.ts'
import { argumentError } from './errors.ts'

export const REDUCTIONS = {
  sum: (a: number, b: number) => a + b,
  min: Math.min,
  max: Math.max,
} as const
export type Reduction = keyof typeof REDUCTIONS

export const COMM_WORLDS = ['worker', 'server', 'all'] as const
/** Who takes part in a collective operation of fleet.util. */
export type CommWorld = (typeof COMM_WORLDS)[number]

/** A number, or numbers in lists of any depth: the same on every worker. */
export type Numbers = number | readonly Numbers[] | Float32Array | Float64Array

/** What fleet.util needs of fleet. */
export interface UtilHost {
  readonly cluster: Cluster
  /** Meets all workers at a call of this name; just this process in a job of one. */
  allGatherJson(call: string, what: unknown): Promise<readonly unknown[]>
  warn(message: string): void
}

export class FleetUtil {
  readonly #host: () => UtilHost

  constructor(host: () => UtilHost) {
    this.#host = host
  }

  /** This worker's files: contiguous blocks, the first workers get one more where the number does not divide. May be none. */
  getFileShard(files: readonly string[]): string[] {
    if (!Array.isArray(files))
      throw argumentError(
        'files should be a list of file need to be read.',
        'fleet.util.getFileShard(["part-0", "part-1"])',
      )
    const { rank, workerNum } = this.#host().cluster
    const each = Math.floor(files.length / workerNum)
    const more = files.length % workerNum
    const first = rank * each + Math.min(rank, more)
    return files.slice(first, first + each + (rank < more ? 1 : 0))
  }

  /** Adds up (or takes the least or most of) what each worker brings; every worker gets the result, in the same shape. */
  async allReduce<T extends Numbers>(input: T, mode: Reduction = 'sum', commWorld: CommWorld = 'worker'): Promise<T> {
    const reduce = REDUCTIONS[mode]
    if (!reduce)
      throw argumentError(`allReduce: there is no mode "${mode}"`, `use ${Object.keys(REDUCTIONS).join(', ')}`)
    if (!this.#isWorkers(commWorld)) return input
    const flat = flatten(input)
    const all = await this.#host().allGatherJson('allReduce', encode(flat))
    const sums = all.map((text, rank) => decode(text, rank))
    const other = sums.findIndex(({ length }) => length !== flat.length)
    if (other >= 0)
      throw argumentError(
        `allReduce: worker[${other}] brought ${sums[other]!.length} numbers, this one ${flat.length}`,
        'give the same shape on every worker',
      )
    const result = sums.reduce((a, b) => a.map((value, i) => reduce(value, b[i]!)))
    return rebuild(input, result.values()) as T
  }

  /** What each worker brings, by rank. It travels as JSON. */
  async allGather<T>(input: T, commWorld: CommWorld = 'worker'): Promise<readonly T[]> {
    if (!this.#isWorkers(commWorld)) return [input]
    return (await this.#host().allGatherJson('allGather', input)) as readonly T[]
  }

  /** Returns when every worker has called it. */
  async barrier(commWorld: CommWorld = 'worker'): Promise<void> {
    if (this.#isWorkers(commWorld)) await this.#host().allGatherJson('barrier', null)
  }

  /** Servers gather nothing: as in Paddle, whose HTTP rendezvous has a group of workers only. */
  #isWorkers(commWorld: CommWorld): boolean {
    if (!COMM_WORLDS.includes(commWorld))
      throw argumentError(`there is no comm_world "${commWorld}"`, `use ${COMM_WORLDS.join(', ')}`)
    const host = this.#host()
    if (commWorld === 'worker' && host.cluster.role !== 'server') return true
    host.warn('gloo is not initialized, will not communicator with other nodes')
    return false
  }
}

function flatten(input: Numbers): Float64Array {
  if (typeof input === 'number') return Float64Array.of(input)
  if (ArrayBuffer.isView(input)) return Float64Array.from(input)
  return Float64Array.from(input.flatMap((item) => [...flatten(item)]))
}

function rebuild(shape: Numbers, values: Iterator<number>): Numbers {
  if (typeof shape === 'number') return values.next().value as number
  if (shape instanceof Float32Array) return shape.map(() => values.next().value as number)
  if (shape instanceof Float64Array) return shape.map(() => values.next().value as number)
  return (shape as readonly Numbers[]).map((item) => rebuild(item, values))
}

/** As bytes: JSON has neither NaN nor infinity. */
function encode(values: Float64Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64')
}

/** It comes from another process: whatever that may be, it becomes numbers or is refused. */
function decode(text: unknown, rank: number): Float64Array {
  const bytes = Uint8Array.from(Buffer.from(typeof text === 'string' ? text : '', 'base64'))
  if (typeof text === 'string' && bytes.length % 8 === 0) return new Float64Array(bytes.buffer)
  throw argumentError(
    `allReduce: worker[${rank}] brought no numbers`,
    'run the same version of the program on every worker',
  )
}
