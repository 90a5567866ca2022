/** @file What an answer to `oarfish inspect` may be. A server is of the job; even so nothing is printed that was not looked at. */
import {
  byKind,
  checkMessage,
  fields,
  list,
  MEGABYTE,
  number,
  oneOf,
  optional,
  type Reader,
  record,
  text,
  truth,
  whole,
} from '../../base/net/index.ts'
import { MOST_HOT } from './hot-rows.ts'
import type { InspectAnswer, RowReport, ServerReport, TableReport, WeightReport } from './inspect.ts'
import type { HotReport, HotRowReport, HotTableReport } from './inspect-hot.ts'
import { PS_MODES } from './server.ts'
import type { Update } from './update-log.ts'

const count = whole(0, Number.MAX_SAFE_INTEGER)
const name = text(4096)
/** More than any model has. */
const [MOST_TABLES, MOST_VALUES, MOST_STATES, MOST_SERVERS] = [100_000, MEGABYTE, 64, 100_000]
const numbers = list(number, MOST_VALUES)

const weights = fields<WeightReport>({
  sampledRows: count,
  mean: number,
  deviation: number,
  smallest: number,
  largest: number,
})
const TABLE = {
  name,
  dim: count,
  rows: count,
  rowBytes: count,
  usedBytes: count,
  optimizer: name,
  weights: optional(weights) as Reader<WeightReport>,
} satisfies { readonly [K in keyof TableReport]-?: Reader<unknown> }

const update = fields<Update>({ step: count, worker: count, at: number })
const hotRow = fields<HotRowReport>({ key: text(20, /^\d{1,20}$/), pulls: count, shard: count })
const hotTable = fields<HotTableReport>({ name, pulled: count, rows: list(hotRow, MOST_HOT) })
const shards: Reader<readonly [number, number]> = (value, at) => {
  const [first, last, ...rest] = list(count, 2)(value, at)
  checkMessage(first !== undefined && last !== undefined && rest.length === 0, `${at}: expected two numbers`)
  return [first, last]
}

export const readInspectAnswer: Reader<InspectAnswer> = byKind<InspectAnswer>({
  server: fields<{ readonly kind: 'server' } & ServerReport>({
    kind: oneOf(['server']),
    server: count,
    mode: oneOf(PS_MODES),
    steps: count,
    denseValues: count,
    shards,
    usedBytes: count,
    memoryLimitBytes: count,
    tables: list(fields<TableReport>(TABLE), MOST_TABLES),
  }),
  table: fields<{ readonly kind: 'table'; readonly server: number } & TableReport>({
    kind: oneOf(['table']),
    server: count,
    ...TABLE,
  }),
  hot: fields<{ readonly kind: 'hot' } & HotReport>({
    kind: oneOf(['hot']),
    server: count,
    servers: list(text(512), MOST_SERVERS),
    tables: list(hotTable, MOST_TABLES),
  }),
  row: fields<{ readonly kind: 'row' } & RowReport>({
    kind: oneOf(['row']),
    table: name,
    key: text(20, /^\d{1,20}$/),
    owner: fields<RowReport['owner']>({ server: count, endpoint: text(512), shard: count, localShard: count }),
    row: optional(
      fields<NonNullable<RowReport['row']>>({
        lastUpdate: optional(update),
        since: optional(update),
        isStored: truth,
        weight: numbers,
        state: record(numbers, MOST_STATES),
      }),
    ) as Reader<NonNullable<RowReport['row']>>,
  }),
})
