/** @file Several runs as one stream of rows in order of hash: of rows with the same sign that of the newest run. */
import { closeSync, constants, readSync } from 'node:fs'
import { INPUT_BYTES, MAX_INPUTS, RunsMemory } from '../../base/kernel/index.ts'
import { openDirect } from './page-reads.ts'
import { damagedRun, pageBytesOf, type RunKind, type RunMark } from './run-format.ts'

const READ_BYTES = 256 * 1024
const ROWS_AT_ONCE = 4096

/** A run where its file is. */
export interface StoredRun {
  readonly path: string
  readonly mark: RunMark
}

/** Rows in the merge's memory, valid until the next step. */
export interface MergedRows {
  readonly signs: BigUint64Array
  readonly rows: Uint8Array
}

/** `runs` newest first; `memory` is all theirs. */
export function* mergeRuns(
  runs: readonly StoredRun[],
  kind: RunKind,
  memory: RunsMemory = new RunsMemory(),
): Generator<MergedRows> {
  if (runs.length > MAX_INPUTS) throw new Error(`internal: ${runs.length} runs to merge`)
  memory.reset()
  const pageBytes = pageBytesOf(kind.rowBytes)
  memory.kernel.setPages(kind.rowBytes, pageBytes)
  const pagesAtOnce = Math.max(1, Math.floor(READ_BYTES / pageBytes))
  const [signsAt, rowsAt] = [memory.reserve(8 * ROWS_AT_ONCE), memory.reserve(kind.rowBytes * ROWS_AT_ONCE)]
  const [inputsAt, resultAt] = [memory.reserve(INPUT_BYTES * MAX_INPUTS), memory.reserve(8)]
  const inputs = runs.map(({ path, mark }) => ({
    path,
    pages: mark.pages,
    next: 0,
    at: memory.reserve(pagesAtOnce * pageBytes),
    file: openDirect(path, constants.O_RDONLY),
  }))
  const { kernel, buffer } = memory // grows no more
  const feed = (i: number) => {
    const input = inputs[i]!
    const n = Math.min(pagesAtOnce, input.pages - input.next)
    readWhole(input.path, input.file, new Uint8Array(buffer, input.at, n * pageBytes), input.next * pageBytes)
    const sound = kernel.verify(input.at, n, input.next)
    if (sound < n) throw damagedPage(input.path, input.next + sound)
    kernel.feed(inputsAt, i, input.at, n)
    input.next += n
  }
  const result = new Uint32Array(buffer, resultAt, 2)
  try {
    for (const i of inputs.keys()) feed(i)
    for (let done = 0; ; ) {
      kernel.merge(inputsAt, inputs.length, signsAt, rowsAt, done, ROWS_AT_ONCE, resultAt)
      done = result[0]!
      const empty = result[1]!
      for (const i of inputs.keys()) if (empty & (1 << i)) feed(i)
      if (empty !== 0 && done < ROWS_AT_ONCE) continue
      if (done > 0)
        yield {
          signs: new BigUint64Array(buffer, signsAt, done),
          rows: new Uint8Array(buffer, rowsAt, done * kind.rowBytes),
        }
      if (done < ROWS_AT_ONCE) return
      done = 0
    }
  } finally {
    for (const { file } of inputs) closeSync(file)
  }
}

export function damagedPage(path: string, page: number): Error {
  return damagedRun(path, `page ${page} is not what was written there: it was torn or altered`)
}

/** Fills `target`, or says why not. */
export function readWhole(path: string, file: number, target: Uint8Array, offset: number): void {
  for (let done = 0; done < target.length; ) {
    let got: number
    try {
      got = readSync(file, target, done, target.length - done, offset + done)
    } catch (error) {
      throw damagedRun(path, `the disk cannot read it (${(error as Error).message})`, error)
    }
    if (got === 0) throw damagedRun(path, `it ends after ${offset + done} bytes`)
    done += got
  }
}
