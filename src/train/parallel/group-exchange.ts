/** @file Samples between ranks: parcels go by all-to-all, round after round, until no rank has any left. */
import type { Group } from '../../collective/index.ts'
import type { Exchange } from '../../data/index.ts'

/** For the main thread, between passes: the calls must be the same on every rank. */
export function groupExchange(group: Group): Exchange {
  const { rank, size: workers } = group
  async function* swap(_: string, rounds: Iterable<readonly Uint8Array[]>): AsyncGenerator<readonly Uint8Array[]> {
    const mine = rounds[Symbol.iterator]()
    for (;;) {
      const { value, done } = mine.next()
      const more = Uint8Array.of(done ? 0 : 1)
      await group.allReduce(more, 'max')
      if (more[0] === 0) return
      const parcels: readonly Uint8Array[] = done ? Array.from({ length: workers }, () => new Uint8Array(0)) : value
      const lengths = parcels.map(({ byteLength }) => byteLength)
      const { values, counts } = await group.allToAll(new Uint8Array(Buffer.concat(parcels)), lengths)
      let at = 0
      yield counts.map((count) => {
        at += count
        // The group's memory holds until its next call.
        return values.slice(at - count, at)
      })
    }
  }
  return { rank, workers, swap }
}
