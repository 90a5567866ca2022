import { expect, test } from 'vitest'
import { freePorts } from '../../../test/ports.testing.ts'
import { openGroup } from '../collective/index.ts'
import { groupExchange } from './rank-input.ts'

const RANKS = [0, 1, 2]

/** Rank r has r rounds of parcels; what it gives to whom says so. */
const parcelsOf = (rank: number) =>
  Array.from({ length: rank }, (_, round) => RANKS.map((to) => Buffer.from(to === 0 ? '' : `${round}:${rank}>${to} `)))

test('every parcel comes to its rank, in the order of rounds and ranks, also from ranks that have less to give', async () => {
  const endpoints = (await freePorts(RANKS.length)).map((port) => `127.0.0.1:${port}`)
  const identity = { jobId: 'test', token: 'secret' }
  const come = await Promise.all(
    RANKS.map(async (rank) => {
      const group = await openGroup({ kind: 'ring', rank, endpoints, identity })
      let text = ''
      for await (const parcels of groupExchange(group).swap('shuffle', parcelsOf(rank))) text += Buffer.concat(parcels)
      await group.close()
      return text
    }),
  )
  expect(come).toEqual(['', '0:1>1 0:2>1 1:2>1 ', '0:1>2 0:2>2 1:2>2 '])
})
