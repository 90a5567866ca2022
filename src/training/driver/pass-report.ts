/** @file What the processes of a job bring together at the end of a pass: meters, chunks read, whether one was stopped. */

import { UserError } from '../../base/util/index.ts'
import type { MeterState } from '../../weights/snapshot/index.ts'
import { mergeMeters, type PassSum, type PlainMeter, plainMeter } from '../threads/index.ts'

/** JSON. */
export interface PassReport {
  readonly meter: PlainMeter
  readonly stopped: boolean
  /** It has more to read. */
  readonly paused: boolean
  readonly read: ChunksRead
}

/** The chunks a process has read in a pass, by their places among `of`. */
export interface ChunksRead {
  readonly chunks: readonly number[]
  readonly of: number
}

/** Notes what this process reads in a pass; its report at the end. */
export class PassRecord {
  /** Whether it notes the pass from its beginning. */
  readonly isWhole: boolean
  readonly #chunks: number[]
  #of = 0

  /** `before` was read before a cut that the pass goes on from. */
  constructor(isWhole = true, before: readonly number[] = []) {
    this.isWhole = isWhole
    this.#chunks = [...before]
  }

  /** For ReadOptions.onChunk. */
  readonly onChunk = (place: number, of: number): void => {
    this.#chunks.push(place)
    this.#of = of
  }

  get read(): ChunksRead {
    return { chunks: this.#chunks, of: this.#of }
  }

  report(own: MeterState, stopped: boolean, paused = false): PassReport {
    return { meter: plainMeter(own), stopped, paused, read: this.read }
  }
}

/** The reports of all processes as one. */
export function sumReports(reports: readonly PassReport[]): PassSum {
  return {
    meter: mergeMeters(reports.map(({ meter }) => meter)),
    interrupted: reports.some(({ stopped }) => stopped),
    paused: reports.some(({ paused }) => paused),
  }
}

/** Fails unless every chunk was read by exactly one process; what is kept in memory is read in the first pass alone. */
export function checkSplit(pass: string, reports: readonly Pick<PassReport, 'read'>[]): void {
  const of = Math.max(...reports.map(({ read }) => read.of))
  const readers = new Map<number, number>()
  for (const [rank, { read }] of reports.entries()) {
    for (const chunk of read.chunks) {
      const other = readers.get(chunk)
      if (other !== undefined) throw wrongSplit(pass, chunk, of, `was read by worker[${other}] and by worker[${rank}]`)
      readers.set(chunk, rank)
    }
  }
  for (let chunk = 0; chunk < of; chunk++)
    if (!readers.has(chunk)) throw wrongSplit(pass, chunk, of, 'was read by no worker')
}

function wrongSplit(pass: string, chunk: number, of: number, how: string): UserError {
  return new UserError(`${pass}: chunk ${chunk + 1} of ${of} ${how}`, {
    code: 'PS_SPLIT',
    hint: 'do not change data files while a job reads them; if nobody did, this is a bug: please report it',
  })
}
