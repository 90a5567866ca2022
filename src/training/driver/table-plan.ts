/** @file Which tables every rank holds whole, and which are divided: by the size they may come to. */
import type { JobConfig } from '../../base/config/index.ts'
import { anyFiles } from '../../base/fs/index.ts'
import { mix64 } from '../../base/util/index.ts'
import { measureFiles } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'

/** The rank that owns a sign of a divided table; the kernels deal signs out alike. */
export function ownerOf(sign: bigint, size: number): number {
  return Number(mix64(sign) & 0xffffffffn) % size
}

export interface TablePlan {
  /** By table. */
  readonly sharded: readonly boolean[]
  /** What is to be said about it. */
  readonly notices: readonly string[]
}

const MB = 1024 * 1024

export async function planTables(
  { runner }: JobConfig,
  { train, slots, dygraph }: TracedModel,
  params: LocalParams,
  files: readonly string[],
): Promise<TablePlan> {
  const samples = await mostSamples(files)
  const plans = params.tables.map(({ name, rowBytes }) => {
    const used = new Set(train.rows.filter(({ table }) => table === name).flatMap((rows) => rows.slots))
    const sparse = dygraph ? slots.filter(({ kind }) => kind === 'sparse').length : used.size
    // Every sample has at least one sign a slot; that all are different is the most that can be.
    const bytes = samples * sparse * (8 + rowBytes)
    const isLarge = bytes > runner.replicated_table_mb * MB || runner.replicated_table_mb === 0
    return { name, bytes, sharded: isLarge && !dygraph, isLarge }
  })
  return {
    sharded: plans.map(({ sharded }) => sharded),
    notices: plans.map(({ name, bytes, sharded, isLarge }) => {
      const size = `up to ${Math.ceil(bytes / MB).toLocaleString('en-US')} MB, runner.replicated_table_mb ${runner.replicated_table_mb}`
      if (sharded) return `Table ${name} is divided among the ranks by sign (${size}).`
      const why = isLarge ? `${size}; a dynamic graph reads rows at any time` : size
      return `Table ${name} is whole on every rank (${why}).`
    }),
  }
}

const HEAD_BYTES = 256 * 1024

/** By the length of the first lines. */
async function mostSamples(files: readonly string[]): Promise<number> {
  const measured = measureFiles(files)
  const total = measured.reduce((sum, { bytes }) => sum + bytes, 0)
  const first = measured.find(({ bytes }) => bytes > 0)
  if (!first) return 0
  const head = Buffer.alloc(HEAD_BYTES)
  const file = await anyFiles.open(first.path)
  const read = await file.read(head, 0)
  await file.close()
  let lines = 1
  for (let i = 0; i < read; i++) if (head[i] === 10) lines++
  return Math.ceil((total / read) * lines)
}
