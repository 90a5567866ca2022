/** @file Entry of the thread that merges runs: files in, one file out, while training goes on. */
import { type MessagePort, workerData } from 'node:worker_threads'
import { RunsMemory } from '../../base/kernel/index.ts'
import { type PlainError, toPlainError } from '../../base/util/index.ts'
import { mergeRuns, type StoredRun } from './merge.ts'
import { writeMerged } from './merge-writer.ts'
import type { RunKind, RunMark } from './run-format.ts'

export interface MergeThreadData {
  readonly port: MessagePort
  /** 1 when the answer has been posted. */
  readonly answered: Int32Array
  readonly kind: RunKind
}

export interface ToMergeThread {
  /** Newest first. */
  readonly runs: readonly StoredRun[]
  readonly path: string
  readonly bitsPerRow: number
  readonly isDurable: boolean
}

export type FromMergeThread =
  | { readonly mark: RunMark }
  | { readonly error: PlainError & { readonly systemCode?: string | undefined } }

const { port, answered, kind } = workerData as MergeThreadData
const memories = { merge: new RunsMemory(), writer: new RunsMemory() }
port.on('message', ({ runs, path, bitsPerRow, isDurable }: ToMergeThread) => {
  const answer = (message: FromMergeThread) => {
    port.postMessage(message)
    Atomics.store(answered, 0, 1)
    Atomics.notify(answered, 0)
  }
  try {
    const maxRows = runs.reduce((sum, { mark }) => sum + mark.rows, 0)
    const options = { ...kind, maxRows, bitsPerRow, isDurable }
    answer({ mark: writeMerged(path, mergeRuns(runs, kind, memories.merge), options, memories.writer)! })
  } catch (error) {
    answer({ error: { ...toPlainError(error), systemCode: (error as NodeJS.ErrnoException).code } })
  }
})
