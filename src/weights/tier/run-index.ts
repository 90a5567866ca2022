/** @file What is in memory of runs: fences and filters in chunks of 64 KiB, which runs that go give back to those that come. */
import { closeSync, constants, fstatSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { RUN_BYTES, RunsMemory } from '../../base/kernel/index.ts'
import { readWhole, type StoredRun } from './merge.ts'
import { openDirect } from './page-reads.ts'
import {
  BLOCK,
  damagedRun,
  fencesAt,
  filterAt,
  type RunKind,
  type RunMark,
  readFooter,
  wholeBlocks,
} from './run-format.ts'

const CHUNK = 64 * 1024

/** What the end of a run's file says of it; throws when that is not whole, or another table's. */
export function readMark(path: string, kind: RunKind): RunMark {
  const file = openDirect(path, constants.O_RDONLY)
  try {
    const memory = new RunsMemory()
    return markOf(path, file, kind, (bytes, offset) => {
      const at = memory.reserve(bytes)
      const target = new Uint8Array(memory.buffer, at, bytes)
      readWhole(path, file, target, offset)
      return target
    })
  } finally {
    closeSync(file)
  }
}

function markOf(
  path: string,
  file: number,
  kind: RunKind,
  read: (bytes: number, offset: number) => Uint8Array,
): RunMark {
  const { size } = fstatSync(file)
  if (size < BLOCK || size % BLOCK !== 0)
    throw damagedRun(path, `it has ${size} bytes, which is no whole number of blocks`)
  return readFooter(path, read(BLOCK, size - BLOCK), size, kind)
}

/** A run that can be searched. */
export interface OpenRun extends StoredRun {
  readonly file: number
  readonly filter: Chunks
  readonly fences: Chunks
}

/** `table` is a chunk that lists the others. */
interface Chunks {
  readonly table: number
  readonly chunks: readonly number[]
}

export class RunIndex {
  readonly #memory: RunsMemory
  readonly #free: number[] = []
  /** Chunks in use. */
  #used = 0

  constructor(memory: RunsMemory) {
    this.#memory = memory
  }

  get bytes(): number {
    return this.#used * CHUNK
  }

  /** Reads what is needed to search a run; throws when its file is not whole. */
  open(path: string, kind: RunKind): OpenRun {
    const file = openDirect(path, constants.O_RDONLY)
    const taken: number[] = []
    try {
      const scratch = this.#take(taken)
      const mark = markOf(path, file, kind, (bytes, offset) => this.#read(path, file, scratch, bytes, offset))
      const sums = { crc: 0 }
      const fences = this.#load(path, file, fencesAt(mark), wholeBlocks(4 * mark.pages), sums, taken)
      const filter = this.#load(path, file, filterAt(mark), wholeBlocks(64 * mark.filterBlocks), sums, taken)
      if (sums.crc !== mark.crc32) throw damagedRun(path, 'the checksum of its fences and filter does not match')
      this.#give(scratch)
      return { path, mark, file, fences, filter }
    } catch (error) {
      closeSync(file)
      for (const chunk of taken) this.#give(chunk)
      throw error
    }
  }

  close({ file, fences, filter }: OpenRun): void {
    closeSync(file)
    for (const { table, chunks } of [fences, filter]) for (const chunk of [table, ...chunks]) this.#give(chunk)
  }

  /** Runs as the kernel wants them, at `at`. */
  list(runs: readonly OpenRun[], at: number): void {
    const words = new Uint32Array(this.#memory.buffer, at, (RUN_BYTES / 4) * runs.length)
    words.set(runs.flatMap(({ mark, filter, fences }) => [mark.filterBlocks, filter.table, mark.pages, fences.table]))
  }

  #load(path: string, file: number, offset: number, bytes: number, sums: { crc: number }, taken: number[]): Chunks {
    const table = this.#take(taken)
    const chunks: number[] = []
    for (let done = 0; done < bytes; done += CHUNK) {
      const chunk = this.#take(taken)
      sums.crc = crc32(this.#read(path, file, chunk, Math.min(CHUNK, bytes - done), offset + done), sums.crc)
      chunks.push(chunk)
    }
    new Uint32Array(this.#memory.buffer, table, chunks.length).set(chunks)
    return { table, chunks }
  }

  #read(path: string, file: number, at: number, bytes: number, offset: number): Uint8Array {
    const target = new Uint8Array(this.#memory.buffer, at, bytes)
    readWhole(path, file, target, offset)
    return target
  }

  #take(taken: number[]): number {
    const chunk = this.#free.pop() ?? this.#memory.reserve(CHUNK)
    this.#used++
    taken.push(chunk)
    return chunk
  }

  #give(chunk: number): void {
    this.#used--
    this.#free.push(chunk)
  }
}
