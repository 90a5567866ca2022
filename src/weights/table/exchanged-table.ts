/** @file Rows of a table as geo exchanges them: weights with the optimizer's state that all workers share. The rules are in assembly/segment-exchange.ts. */
import { attachSegments, type KernelMemory, type SegmentKernel } from '../../base/kernel/index.ts'
import type { StepFactors } from '../optim/index.ts'
import { roomFor, tableFull } from './segment-view.ts'
import type { DistinctSigns, TableHandle } from './table.ts'

/** Rows as they travel, by row: weights [signs, dim] and the runs of state [signs, runs * dim]. */
export interface RowParts {
  readonly weights: Float32Array
  readonly states: Float32Array
}

/** What a worker brings in of rows: changes of weights, what its gradients added to state, and how often it has updated each. */
export interface BroughtRows extends RowParts {
  readonly touches: Float32Array
}

/** A table as one thread exchanges it. On a worker rows know what the servers hold of them (TableOptions.copied); on a server they are plain. */
export class ExchangedTable {
  readonly #name: string
  readonly #segments: readonly ExchangedSegment[]
  readonly #dim: number
  readonly #runs: number

  /** `decays`: what an update leaves of each run of state that is exchanged, where the table does not say so itself. */
  constructor({ name, layout, memories }: TableHandle, thread: number, decays: readonly number[] = []) {
    const exchange = layout.exchange ?? { decays, copied: false }
    this.#name = name
    this.#dim = layout.dim
    this.#runs = exchange.decays.length
    const kernels = attachSegments(memories, thread, { ...layout, exchange })
    this.#segments = kernels.map((kernel, s) => new ExchangedSegment(kernel, memories[s]!, this.width + 1))
  }

  /** Floats of a row that are exchanged. */
  get width(): number {
    return this.#dim * (1 + this.#runs)
  }

  /** Picks signs whose rows were updated `least` times or more since they were sent: 1 for each of these. */
  pick(distinct: DistinctSigns, least: number): Uint8Array {
    const flags = new Uint8Array(distinct.signs.length)
    this.#each(distinct, false, (segment, first, n) => {
      segment.kernel.pick(segment.addressesAt, n, least, segment.rowsAt)
      flags.set(segment.bytes.subarray(segment.rowsAt, segment.rowsAt + n), first)
    })
    return flags
  }

  /** On a worker: what it brings in of these rows, 1 / share of what their weights changed by. `sent` has to follow. */
  bring(distinct: DistinctSigns, share: number, factors: StepFactors): BroughtRows {
    const { weights, states, touches } = this.#room(distinct)
    const bring = ({ kernel, floats, addressesAt, rowsAt }: ExchangedSegment, first: number, n: number) => {
      const [statesAt, touchesAt] = [rowsAt + 4 * n * this.#dim, rowsAt + 4 * n * this.#dim * (1 + this.#runs)]
      kernel.bring(addressesAt, n, share, rowsAt, statesAt, touchesAt)
      copyOut(floats, rowsAt, weights, first * this.#dim, n * this.#dim)
      copyOut(floats, statesAt, states, first * this.#dim * this.#runs, n * this.#dim * this.#runs)
      copyOut(floats, touchesAt, touches, first, n)
    }
    this.#each(distinct, true, bring, factors)
    return { weights, states, touches }
  }

  /** Of the signs last brought in: what changes of weights arrive at the servers. */
  sent(distinct: DistinctSigns, weights: Float32Array): void {
    let first = 0
    for (const [s, { kernel, floats, addressesAt, rowsAt }] of this.#segments.entries()) {
      const n = distinct.lengths[s]!
      if (n === 0) continue
      floats.set(weights.subarray(first * this.#dim, (first + n) * this.#dim), rowsAt / 4)
      kernel.sent(addressesAt, n, rowsAt)
      first += n
    }
  }

  /** On a worker: what the servers hold of these rows. */
  take(distinct: DistinctSigns, parts: RowParts, factors: StepFactors): void {
    const [weightBytes, stateBytes] = [4 * this.#dim, 4 * this.#dim * this.#runs]
    const take = (segment: ExchangedSegment, first: number, n: number) => {
      const [weightsAt, statesAt] = this.#copyIn(segment, parts, first, n)
      segment.kernel.take(segment.addressesAt, n, weightsAt, weightBytes, statesAt, stateBytes)
    }
    this.#each(distinct, true, take, factors)
  }

  /** The same of rows as the servers store them, [signs, width]. */
  takeStored(distinct: DistinctSigns, rows: Float32Array, factors: StepFactors): void {
    const { width } = this
    const take = ({ kernel, floats, addressesAt, rowsAt }: ExchangedSegment, first: number, n: number) => {
      floats.set(rows.subarray(first * width, (first + n) * width), rowsAt / 4)
      kernel.take(addressesAt, n, rowsAt, 4 * width, rowsAt + 4 * this.#dim, 4 * width)
    }
    this.#each(distinct, true, take, factors)
  }

  /** On a server: what a worker brings in. */
  add(distinct: DistinctSigns, parts: BroughtRows): void {
    this.#each(distinct, true, (segment, first, n) => {
      const [weightsAt, statesAt] = this.#copyIn(segment, parts, first, n)
      const touchesAt = statesAt + 4 * n * this.#dim * this.#runs
      if (this.#runs > 0) segment.floats.set(parts.touches.subarray(first, first + n), touchesAt / 4)
      segment.kernel.add(segment.addressesAt, n, weightsAt, statesAt, touchesAt)
    })
  }

  /** On a server: what it holds of these rows; those that are missing are made. */
  give(distinct: DistinctSigns): RowParts {
    const { weights, states } = this.#room(distinct)
    this.#each(distinct, true, ({ kernel, floats, addressesAt, rowsAt }, first, n) => {
      const statesAt = rowsAt + 4 * n * this.#dim
      kernel.give(addressesAt, n, rowsAt, statesAt)
      copyOut(floats, rowsAt, weights, first * this.#dim, n * this.#dim)
      copyOut(floats, statesAt, states, first * this.#dim * this.#runs, n * this.#dim * this.#runs)
    })
    return { weights, states }
  }

  /** Finds the rows of each segment's signs, and lets `work` go over them. */
  #each(
    { signs, lengths }: DistinctSigns,
    insert: boolean,
    work: (segment: ExchangedSegment, first: number, n: number) => void,
    factors?: StepFactors,
  ): void {
    let first = 0
    for (const [s, segment] of this.#segments.entries()) {
      const n = lengths[s]!
      if (n === 0) continue
      if (factors) segment.kernel.setClock(factors.step, factors.baseRate)
      if (!segment.find(signs.subarray(first, first + n), insert)) throw tableFull(this.#name, this.#rowCount)
      work(segment, first, n)
      first += n
    }
  }

  #copyIn({ floats, rowsAt }: ExchangedSegment, { weights, states }: RowParts, first: number, n: number) {
    const [dim, width] = [this.#dim, this.#dim * this.#runs]
    const statesAt = rowsAt + 4 * n * dim
    floats.set(weights.subarray(first * dim, (first + n) * dim), rowsAt / 4)
    if (width > 0) floats.set(states.subarray(first * width, (first + n) * width), statesAt / 4)
    return [rowsAt, statesAt] as const
  }

  #room({ signs: { length: n } }: DistinctSigns): BroughtRows {
    const [weights, states, touches] = [unfilled(n * this.#dim), unfilled(n * this.#dim * this.#runs), unfilled(n)]
    return { weights, states, touches }
  }

  get #rowCount(): number {
    return this.#segments.reduce((sum, { kernel }) => sum + kernel.rowCount(), 0)
  }
}

/** A segment's kernel, and this thread's room for signs, their rows' addresses and what goes in or out. */
class ExchangedSegment {
  readonly kernel: SegmentKernel
  readonly #memory: KernelMemory
  readonly #width: number
  #capacity = 0
  #signsAt = 0
  addressesAt = 0
  rowsAt = 0
  floats: Float32Array = new Float32Array(0)
  bytes: Uint8Array = new Uint8Array(0)

  constructor(kernel: SegmentKernel, memory: KernelMemory, width: number) {
    this.kernel = kernel
    this.#memory = memory
    this.#width = width
  }

  /** False when the segment is full. */
  find(signs: BigUint64Array, insert: boolean): boolean {
    const { length: n } = signs
    if (n > this.#capacity && !this.#fit(roomFor(n))) return false
    new BigUint64Array(this.#memory.buffer, this.#signsAt, n).set(signs)
    return this.kernel.locate(this.#signsAt, n, this.addressesAt, insert ? 1 : 0) >= 0
  }

  #fit(capacity: number): boolean {
    const room = [8, 4, 4 * this.#width].map((bytes) => this.kernel.reserve(capacity * bytes) >>> 0)
    if (room.includes(0)) return false
    const [signsAt = 0, addressesAt = 0, rowsAt = 0] = room
    Object.assign(this, { addressesAt, rowsAt })
    this.#signsAt = signsAt
    this.#capacity = capacity
    this.floats = new Float32Array(this.#memory.buffer)
    this.bytes = new Uint8Array(this.#memory.buffer)
    return true
  }
}

function copyOut(floats: Float32Array, at: number, to: Float32Array, first: number, count: number): void {
  if (count > 0) to.set(floats.subarray(at / 4, at / 4 + count), first)
}

/** Room that will be written whole. */
function unfilled(values: number): Float32Array<ArrayBuffer> {
  return new Float32Array(Buffer.allocUnsafeSlow(4 * values).buffer, 0, values)
}
