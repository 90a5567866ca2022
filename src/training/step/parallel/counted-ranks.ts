/** @file Calls between ranks, counted: how much each brought in and got, and how long it waited for the others. */
import type { LinkCount } from '../../../weights/params/index.ts'
import type { Gathered, Numbers } from '../../collective/index.ts'
import type { Ranks } from './ranks.ts'

/** The same calls. A call is over when the slowest rank has made it: what it took is mostly waiting for that one. */
export function countedRanks({ rank, size, begin }: Ranks, link: LinkCount): Ranks {
  const count = <T>(values: Numbers, call: () => () => T | Promise<T>, came: (result: T) => number) => {
    const begun = call()
    link.calls++
    link.sentBytes += values.byteLength
    return () => {
      const asked = performance.now()
      const done = (result: T) => {
        link.seconds += (performance.now() - asked) / 1000
        link.receivedBytes += came(result)
        return result
      }
      const result = begun()
      return result instanceof Promise ? result.then(done) : done(result)
    }
  }
  const bytes = <T extends Numbers>({ values }: Gathered<T>) => values.byteLength
  return {
    rank,
    size,
    begin: {
      allReduce: (values, reduction) =>
        count(
          values,
          () => begin.allReduce(values, reduction),
          () => values.byteLength,
        ),
      allGather: (own, counts) => count(own, () => begin.allGather(own, counts), bytes),
      allToAll: (values, counts, coming) => count(values, () => begin.allToAll(values, counts, coming), bytes),
    },
  }
}
