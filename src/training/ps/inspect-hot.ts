/** @file What a server shows of its hottest rows, and what those of all servers of a job are together. */
import { type Placement, shardOf } from '../../weights/table/index.ts'
import type { HotRow, HotTable } from './hot-rows.ts'
import type { KernelStore } from './kernel-store.ts'

export interface HotRowReport extends HotRow {
  readonly shard: number
}

export interface HotTableReport {
  readonly name: string
  readonly pulled: number
  readonly rows: readonly HotRowReport[]
}

/** One server's. */
export interface HotReport {
  readonly server: number
  /** All of the job, so that the others can be asked. */
  readonly servers: readonly string[]
  readonly tables: readonly HotTableReport[]
}

export interface HotInspector {
  readonly store: KernelStore
  readonly hotOf: (table: number, most: number) => HotTable | Promise<HotTable>
  readonly rank: number
  readonly servers: readonly string[]
  readonly placement: Placement
}

/** Of the tables given by their places, `most` rows each. */
export async function hotReport(
  { store, hotOf, rank, servers, placement }: HotInspector,
  tables: readonly number[],
  most: number,
): Promise<HotReport> {
  const reports = tables.map(async (t): Promise<HotTableReport> => {
    const { pulled, rows } = await hotOf(t, most)
    const { name } = store.params.tables[t]!
    return { name, pulled, rows: rows.map((row) => ({ ...row, shard: shardOf(BigInt(row.key), placement) })) }
  })
  return { server: rank, servers, tables: await Promise.all(reports) }
}

/** A job's. */
export interface JobHotReport {
  /** Rows pulled from each, of the tables that were asked for. */
  readonly servers: readonly { readonly server: number; readonly endpoint: string; readonly pulled: number }[]
  readonly tables: readonly {
    readonly name: string
    readonly pulled: number
    readonly rows: readonly (HotRowReport & { readonly server: number })[]
  }[]
}

/** `reports` are those of all servers, in their order. */
export function joinReports(reports: readonly HotReport[], most: number): JobHotReport {
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
  const [{ servers, tables }] = reports as [HotReport]
  return {
    servers: reports.map((report) => ({
      server: report.server,
      endpoint: servers[report.server]!,
      pulled: sum(report.tables.map(({ pulled }) => pulled)),
    })),
    tables: tables.map(({ name }, t) => {
      const rows = reports.flatMap(({ server, tables: own }) => own[t]!.rows.map((row) => ({ ...row, server })))
      const pulled = sum(reports.map(({ tables: own }) => own[t]!.pulled))
      return { name, pulled, rows: rows.sort((a, b) => b.pulls - a.pulls).slice(0, most) }
    }),
  }
}
