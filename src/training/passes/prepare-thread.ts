/** @file Entry of a preparation thread: collects a pass's signs, copies their rows out of the host's tables, and trained rows back. */
import { parentPort, workerData } from 'node:worker_threads'
import { type PlainError, toPlainError } from '../../base/util/index.ts'
import type { Piece } from '../../data/index.ts'
import { SparseTable, type TableHandle } from '../../weights/table/index.ts'
import type { Side } from './pass-rows.ts'
import { SignCollector, type SlotTables } from './sign-collector.ts'

export interface PrepareThreadData {
  /** Its number among all threads that use the tables. */
  readonly thread: number
  readonly host: readonly TableHandle[]
  readonly sides: readonly [readonly TableHandle[], readonly TableHandle[]]
  readonly groups: readonly SlotTables[]
  readonly sparseSlots: number
}

export type ToPrepareThread =
  /** Every sign of these samples gets its row on this side. */
  | { readonly kind: 'collect'; readonly side: Side; readonly pieces: readonly Piece[] }
  /** What the side has of these segments goes to the host's tables and, with `handOver`, over what the other side has of it already. */
  | {
      readonly kind: 'writeBack'
      readonly side: Side
      readonly segments: readonly number[]
      readonly handOver: boolean
    }

/** How much was copied, the answer to every message: bytes collected, rows written back. */
export type FromPrepareThread =
  | { readonly kind: 'copied'; readonly rows: number }
  | { readonly kind: 'failed'; readonly error: PlainError }

function open({ thread, host, sides, groups, sparseSlots }: PrepareThreadData) {
  const attach = (tables: readonly TableHandle[]) => tables.map((table) => new SparseTable(table, thread))
  const [hosts, both] = [attach(host), [attach(sides[0]), attach(sides[1])] as const]
  const collector = new SignCollector(sparseSlots, host[0]?.memories.length ?? 1)
  return {
    collect({ side, pieces }: Extract<ToPrepareThread, { kind: 'collect' }>): number {
      let bytes = 0
      for (const piece of pieces) {
        for (const { tables, wanted } of groups) {
          const distinct = collector.distinct(piece, wanted)
          for (const t of tables) bytes += both[side][t]!.copyFrom(hosts[t]!, distinct) * hosts[t]!.rowBytes
        }
      }
      return bytes
    },
    writeBack({ side, segments, handOver }: Extract<ToPrepareThread, { kind: 'writeBack' }>): number {
      let rows = 0
      for (const [t, table] of both[side].entries()) {
        for (const segment of segments) {
          rows += table.copyTo(hosts[t]!, segment, true)
          if (handOver) table.copyTo(both[1 - side]![t]!, segment, false)
        }
      }
      return rows
    },
  }
}

const work = open(workerData as PrepareThreadData)
parentPort!.on('message', (message: ToPrepareThread) => {
  const answer = (answered: FromPrepareThread) => parentPort!.postMessage(answered)
  try {
    answer({ kind: 'copied', rows: message.kind === 'collect' ? work.collect(message) : work.writeBack(message) })
  } catch (error) {
    answer({ kind: 'failed', error: toPlainError(error) })
  }
})
