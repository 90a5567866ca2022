/** @file Ranks in one thread, for tests of what they compute. */
import type { Gathered, Numbers, Reduction } from '../../src/training/collective/index.ts'
import type { Ranks } from '../../src/training/step/parallel/ranks.ts'

/** Ranks in one thread: a call is answered when all have made it. */
export function inProcess(size: number): Ranks[] {
  const rounds: { values: unknown[]; done: Promise<unknown[]>; resolve: (values: unknown[]) => void }[] = []
  const turns = Array<number>(size).fill(0)
  const exchange = <T>(rank: number, value: T): Promise<T[]> => {
    const turn = turns[rank]!++
    if (!rounds[turn]) {
      let resolve: (values: unknown[]) => void = () => undefined
      const done = new Promise<unknown[]>((settle) => {
        resolve = settle
      })
      rounds[turn] = { values: [], done, resolve }
    }
    const round = rounds[turn]
    round.values[rank] = value
    if (Object.keys(round.values).length === size) round.resolve(round.values)
    return round.done as Promise<T[]>
  }
  const joined = <T extends Numbers>(parts: readonly T[]): Gathered<T> => {
    const all = parts.flatMap((part) => [...part] as number[])
    const Values = parts[0]!.constructor as unknown as { from(values: number[]): T }
    return { values: Values.from(all), counts: parts.map(({ length }) => length) }
  }
  return Array.from({ length: size }, (_, rank) => ({
    rank,
    size,
    begin: {
      allReduce: (values: Numbers, reduction: Reduction) => {
        const all = exchange(rank, values.slice() as Float64Array)
        return async () => {
          const parts = await all
          for (let i = 0; i < values.length; i++) {
            const own = parts.map((part) => part[i]!)
            values[i] = reduction === 'max' ? Math.max(...own) : own.reduce((sum, value) => sum + value, 0)
          }
        }
      },
      allGather: <T extends Numbers>(own: T) => {
        const all = exchange(rank, own.slice() as T)
        return async () => joined(await all)
      },
      allToAll: <T extends Numbers>(values: T, counts: readonly number[]) => {
        const starts = counts.map((_, r) => counts.slice(0, r).reduce((sum, count) => sum + count, 0))
        const all = exchange(
          rank,
          counts.map((count, r) => values.slice(starts[r]!, starts[r]! + count) as T),
        )
        return async () => joined((await all).map((parts) => parts[rank]!))
      },
    },
  }))
}
