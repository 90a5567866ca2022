/** @file The ring where all ranks are on one host: numbers go through memory that all of them see, chunk by chunk. */

import { Reducer } from '../../../base/kernel/index.ts'
import { bytesOf } from '../../../base/util/index.ts'
import type { Backend, DirectHandle } from '../backend.ts'
import { CALL_TEXT, CALLS, type CallName } from '../control.ts'
import type { Numbers } from '../group.ts'
import { elementBytes, evenCounts, offsetsOf, type Pairwise, TYPES, typeOf } from '../numbers.ts'
import { AREA, type BarrierOptions, BEGUN, barrierBytes, type Progress, SharedBarrier } from './shared-barrier.ts'

const MAX_CHUNK_BYTES = 2 * 1024 * 1024
const TOTAL_BYTES = 32 * 1024 * 1024

/** A rank's chunk; all ranks have as many numbers in it, of which sums take vectors of 16 bytes. */
function chunkBytes(size: number): number {
  return Math.min(MAX_CHUNK_BYTES, Math.floor(TOTAL_BYTES / (2 * size + 2) / 4096) * 4096)
}

/** Room for the barrier, for a chunk of every rank and one of results, and the same once more for the next. */
export function memoryRingBytes(size: number): number {
  return barrierBytes(size) + 2 * (size + 1) * chunkBytes(size)
}

/**
 * Chunks alternate between two areas. A rank that writes an area has passed a barrier since it was last used, and the others come to
 * that barrier only when they have read it: so one barrier a chunk is enough where there is nothing to give back.
 */
export class MemoryRing implements Backend {
  readonly kind = 'ring'
  readonly blocks = true
  readonly rank: number
  readonly size: number
  readonly description: string
  readonly direct: DirectHandle | undefined
  readonly #barrier: SharedBarrier
  readonly #reducer = new Reducer()
  readonly #chunk: number
  /** [area][rank]; the last of an area is for results. */
  readonly #slots: readonly (readonly Uint8Array[])[]
  readonly #progress: Progress
  #checked = true

  constructor(options: BarrierOptions, direct?: DirectHandle) {
    const { memory, rank, size, progress } = options
    this.#progress = progress
    this.direct = direct
    this.rank = rank
    this.size = size
    this.description = `ring of ${size} over shared memory`
    this.#barrier = new SharedBarrier(options)
    this.#chunk = chunkBytes(size)
    const start = barrierBytes(size)
    const slot = (area: number, i: number) =>
      new Uint8Array(memory, start + (area * (size + 1) + i) * this.#chunk, this.#chunk)
    this.#slots = [0, 1].map((area) => Array.from({ length: size + 1 }, (_, i) => slot(area, i)))
  }

  /**
   * Every rank sums up its share of a chunk. Slots are read between the two barriers and results after the second, so all
   * chunks use one area, which stays in the caches.
   */
  allReduce(values: Numbers, reduction: Pairwise): void {
    const type = this.#begin('allReduce', values)
    const bytes = bytesOf(values)
    const slots = this.#nextArea()
    const [own, result] = [slots[this.rank]!, slots[this.size]!]
    for (let at = 0; at < bytes.length; at += this.#chunk) {
      const piece = bytes.subarray(at, at + this.#chunk)
      const [from, to] = this.#share(piece.length, elementBytes(type))
      copyAround(own, piece, from, to)
      this.#sync()
      const parts = slots
        .slice(0, this.size)
        .map((slot, rank) => (rank === this.rank ? piece : slot).subarray(from, to))
      this.#reducer.reduce([piece.subarray(from, to), result.subarray(from, to)], parts, type, reduction)
      this.#sync()
      copyAround(piece, result, from, to)
    }
    if (bytes.length === 0) this.#sync()
  }

  reduceScatter(values: Numbers, counts: readonly number[], reduction: Pairwise): void {
    const type = this.#begin('reduceScatter', values)
    const bytes = bytesOf(values)
    const start = offsetsOf(counts)[this.rank]! * elementBytes(type)
    const end = start + counts[this.rank]! * elementBytes(type)
    for (let at = 0; at < bytes.length; at += this.#chunk) {
      const slots = this.#nextArea()
      slots[this.rank]!.set(bytes.subarray(at, at + this.#chunk))
      this.#sync()
      const [from, to] = [Math.max(start, at), Math.min(end, at + this.#chunk)]
      if (from >= to) continue
      const parts = slots.slice(0, this.size).map((slot) => slot.subarray(from - at, to - at))
      this.#reducer.reduce([bytes.subarray(from, to)], parts, type, reduction)
    }
    if (bytes.length === 0) this.#sync()
  }

  broadcast(values: Numbers, root: number): void {
    this.#begin('broadcast', values)
    const bytes = bytesOf(values)
    for (let at = 0; at < bytes.length; at += this.#chunk) {
      const piece = bytes.subarray(at, at + this.#chunk)
      const slot = this.#nextArea()[root]!
      if (this.rank === root) slot.set(piece)
      this.#sync()
      if (this.rank !== root) piece.set(slot.subarray(0, piece.length))
    }
    if (bytes.length === 0) this.#sync()
  }

  allGather(values: Numbers, counts: readonly number[]): void {
    const type = this.#begin('allGather', values)
    const parts = bytesOfParts(values, counts, elementBytes(type))
    const longest = Math.max(...parts.map(({ length }) => length))
    for (let at = 0; at < longest; at += this.#chunk) {
      const slots = this.#nextArea()
      slots[this.rank]!.set(parts[this.rank]!.subarray(at, at + this.#chunk))
      this.#sync()
      for (const [rank, part] of parts.entries()) {
        const piece = part.subarray(at, at + this.#chunk)
        if (rank !== this.rank) piece.set(slots[rank]!.subarray(0, piece.length))
      }
    }
    if (longest === 0) this.#sync()
  }

  /** Every slot has a part for each rank. How often is what the longest part of any two ranks takes. */
  allToAll(send: Numbers, sendCounts: readonly number[], receive: Numbers, receiveCounts: readonly number[]): void {
    // Each rank knows its own lengths only, so they are not compared.
    const type = this.#begin('allToAll', send, 0)
    const [from, to] = [
      bytesOfParts(send, sendCounts, elementBytes(type)),
      bytesOfParts(receive, receiveCounts, elementBytes(type)),
    ]
    const room = Math.floor(this.#chunk / this.size / 16) * 16
    const rounds = this.#largest(Math.ceil(Math.max(...from.map(({ length }) => length)) / room))
    for (let round = 0; round < rounds; round++) {
      const slots = this.#nextArea()
      const piece = (part: Uint8Array) => part.subarray(round * room, (round + 1) * room)
      for (const [rank, part] of from.entries()) slots[this.rank]!.set(piece(part), rank * room)
      this.#sync()
      for (const [rank, part] of to.entries()) {
        const { length } = piece(part)
        piece(part).set(slots[rank]!.subarray(this.rank * room, this.rank * room + length))
      }
    }
  }

  barrier(): void {
    this.#begin('barrier', new Uint8Array(0))
    this.#sync()
  }

  idle(): void {
    this.#barrier.beat()
  }

  close(reason?: Error): void {
    if (reason) this.#barrier.stop(reason)
    else this.barrier()
  }

  #begin(name: CallName, values: Numbers, bytes = values.byteLength) {
    const type = typeOf(values)
    const call = Atomics.add(this.#progress, BEGUN, 1) + 1
    this.#checked = false
    const [low, high] = [bytes % 2 ** 30, Math.floor(bytes / 2 ** 30)]
    const at = [call, CALLS.indexOf(name), TYPES.indexOf(type), low, high]
    this.#barrier.begin(at, `${CALL_TEXT[name]} of ${values.length} ${type}`)
    return type
  }

  #sync(): void {
    this.#barrier.wait()
    if (this.#checked) return
    this.#checked = true
    this.#barrier.check(([call, name, type, low, high]) => {
      const bytes = low! + high! * 2 ** 30
      return `call ${call}, ${CALL_TEXT[CALLS[name!]!]} (${TYPES[type!]}, ${bytes} bytes)`
    })
  }

  #nextArea(): readonly Uint8Array[] {
    const area = 1 - this.#progress[AREA]!
    this.#progress[AREA] = area
    return this.#slots[area]!
  }

  /** This rank's share of `bytes`, whole vectors where it can be. */
  #share(bytes: number, elementBytes: number): readonly [number, number] {
    const unit = bytes >= 4096 ? 64 : elementBytes
    const counts = evenCounts(Math.ceil(bytes / unit), this.size)
    const start = offsetsOf(counts)[this.rank]! * unit
    return [Math.min(bytes, start), Math.min(bytes, start + counts[this.rank]! * unit)]
  }

  #largest(value: number): number {
    const slots = this.#nextArea()
    const word = (rank: number) => new DataView(slots[rank]!.buffer, slots[rank]!.byteOffset)
    word(this.rank).setFloat64(0, value)
    this.#sync()
    return Math.max(...Array.from({ length: this.size }, (_, rank) => word(rank).getFloat64(0)))
  }
}

function bytesOfParts(values: Numbers, counts: readonly number[], elementBytes: number): readonly Uint8Array[] {
  const bytes = bytesOf(values)
  const offsets = offsetsOf(counts)
  return counts.map((count, rank) => {
    const at = offsets[rank]! * elementBytes
    return bytes.subarray(at, at + count * elementBytes)
  })
}

/** All but [from, to): what others sum up, or have summed up. */
function copyAround(into: Uint8Array, source: Uint8Array, from: number, to: number): void {
  const length = Math.min(into.length, source.length)
  into.set(source.subarray(0, from))
  into.set(source.subarray(to, length), to)
}
