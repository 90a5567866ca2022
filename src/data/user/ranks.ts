/** @file Which rank of a collective job a reader or a model runs in. Asking is recorded: such a reader divides its files itself. */
import { getEnvironmentData } from 'node:worker_threads'
import { shareWithThreads } from '../../base/util/index.ts'

interface RankNote {
  readonly rank: number
  readonly size: number
  /** One number: 1 once somebody has asked. */
  readonly asked: SharedArrayBuffer
}

const KEY = 'oarfish rank'

/** This process's number among those that train together; 0 where it trains alone. */
export function getRank(): number {
  return askedNote()?.rank ?? 0
}

/** How many processes train together. */
export function getWorldSize(): number {
  return askedNote()?.size ?? 1
}

/** Known from then on to this thread and to threads started later. */
export function setRank(rank: number, size: number): void {
  shareWithThreads(KEY, { rank, size, asked: new SharedArrayBuffer(4) })
}

/** Whether a thread of this process has asked since `setRank`. */
export function rankAsked(): boolean {
  const note = noted()
  return note !== undefined && Atomics.load(new Int32Array(note.asked), 0) === 1
}

/** For a reader in a process of its own, which tells later whether it has asked. */
export function rankNoted(): { readonly rank: number; readonly size: number } {
  const { rank, size } = noted() ?? { rank: 0, size: 1 }
  return { rank, size }
}

/** Another process has asked on behalf of this one, if it has. */
export function noteAsked(asked: boolean): void {
  if (asked) askedNote()
}

function askedNote(): RankNote | undefined {
  const note = noted()
  if (note) Atomics.store(new Int32Array(note.asked), 0, 1)
  return note
}

function noted(): RankNote | undefined {
  return getEnvironmentData(KEY) as unknown as RankNote | undefined
}
