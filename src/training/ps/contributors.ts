/** @file Whose pushes make a step together in each mode, and how many are under way at a time: every thread of every worker has a number. */
import { Collector } from './collector.ts'
import type { ParameterServerOptions, PsMode } from './server.ts'

/** More than any worker has. */
export const MAX_THREADS = 1024

type Size = Pick<ParameterServerOptions, 'workers' | 'threads'>

/** Gradients that others are computing at a time. */
export const IN_FLIGHT: { readonly [M in PsMode]: (size: Size) => number } = {
  sync: () => 0,
  half_async: ({ workers }) => workers - 1,
  async: allOthers,
  geo: allOthers,
}

function allOthers({ workers, threads }: Size): number {
  return workers * Math.max(1, threads) - 1
}

/** The number of a worker's thread among all contributors: merging goes in this order. */
export function contributor(rank: number, thread: number): number {
  return rank * MAX_THREADS + thread
}

export function contributors(rank: number, threads: number): number[] {
  return Array.from({ length: threads }, (_, thread) => contributor(rank, thread))
}

/** By worker. */
export function collectorsOf({
  store,
  mode,
  workers,
  threads,
}: ParameterServerOptions): readonly (Collector | undefined)[] {
  const ranks = Array.from({ length: workers }, (_, rank) => rank)
  const each: { readonly [M in PsMode]: () => readonly (Collector | undefined)[] } = {
    sync: () => {
      const everyone = ranks.flatMap((rank) => contributors(rank, threads))
      const all = new Collector(store, everyone)
      return ranks.map(() => all)
    },
    half_async: () => ranks.map((rank) => new Collector(store, contributors(rank, threads))),
    async: () => [],
    geo: () => [],
  }
  return each[mode]()
}
