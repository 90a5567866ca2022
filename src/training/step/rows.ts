/** @file Rows between tables and graph: distinct signs of a batch, rows to the tensors the graph reads, gradients back. */
import { POOLINGS } from '../../base/kernel/index.ts'
import type { BatchRows } from '../../weights/params/index.ts'
import { makeDistinct } from '../../weights/table/index.ts'
import type { Capacity, RowsRegions, StepBuffers } from './buffers.ts'

/** A batch in the workspace. */
export interface LoadedBatch {
  readonly samples: number
  readonly signs: number
  readonly lengths: Capacity['lengths']
}

/** A batch whose signs were made distinct, group by group. `single`: every cell of the group has exactly one sign. */
export interface DistinctBatch extends LoadedBatch {
  readonly groups: readonly { readonly single: boolean }[]
  readonly tables: readonly BatchRows[]
}

/** Finds the distinct signs of each slot group, and with them what each table is asked for. */
export function distinctSigns(
  buffers: StepBuffers,
  loaded: LoadedBatch,
  sparseSlots: number,
  segments: number,
): DistinctBatch {
  const { workspace } = buffers
  const { kernel, buffer } = workspace
  const groups = buffers.groups.map((group) => {
    const { room, counts, wanted } = group
    const [from, at] = [buffers.signs.at, buffers.counts.at]
    const n = group.all
      ? loaded.signs
      : kernel.select(from, at, loaded.samples, sparseSlots, wanted.at, room.at.signs, counts.at)
    const distinct = makeDistinct(workspace, room, n, segments)
    const cells = loaded.samples * group.slots.length
    return {
      distinct,
      single: n === cells && kernel.largest(counts.at, cells) === 1,
      showClick: group.showClick && new Float32Array(buffer, group.showClick.out.at, 3 * distinct.signs.length),
    }
  })
  const tables = buffers.tables.map(({ group, dim, rows, gradients }, table): BatchRows => {
    const { distinct, showClick } = groups[group]!
    const size = distinct.signs.length * dim
    return {
      table,
      distinct,
      rows: new Float32Array(buffer, rows.at, size),
      gradients: new Float32Array(buffer, gradients.at, size),
      showClick,
    }
  })
  return { ...loaded, groups, tables }
}

/** Show and click of each distinct sign in the batch, where tables count them. */
export function countShowClick(buffers: StepBuffers, batch: LoadedBatch, tables: readonly BatchRows[]): void {
  const { kernel } = buffers.workspace
  for (const { showClick } of tables) showClick?.fill(0)
  for (const { showClick, room, counts, slots } of buffers.groups) {
    if (!showClick) continue
    const { numbers, shows, clicks, out } = showClick
    kernel.countShowClick(
      room.at.inverse,
      counts.at,
      batch.samples,
      slots.length,
      numbers.at,
      shows.at,
      clicks.at,
      out.at,
    )
  }
}

/** From rows of distinct signs to the tensors the graph reads. */
export function expandRows(buffers: StepBuffers, batch: DistinctBatch): void {
  const { kernel } = buffers.workspace
  for (const rows of buffers.rows) {
    const { room, counts, slots } = buffers.groups[rows.group]!
    const { rows: from, dim } = buffers.tables[rows.table]!
    const [cells, out] = [[room.at.inverse, counts.at, batch.samples, slots.length] as const, rows.value.at]
    if (rows.mask)
      kernel.expandSequence(...cells, rows.targets.indexOf(0), from.at, dim, lengthOf(rows, batch), out, rows.mask.at)
    else if (rows.straight && batch.groups[rows.group]!.single)
      kernel.expandSingle(room.at.inverse, batch.samples * slots.length, from.at, dim, out)
    else kernel.expandPooled(...cells, rows.targetsAt.at, from.at, dim, rows.spec.slots.length, out, poolingOf(rows))
  }
}

/** From gradients of the graph's row tensors to one gradient per distinct sign. A slice's loss is its own mean: `share` makes it its part of the batch's. */
export function mergeGradients(buffers: StepBuffers, batch: DistinctBatch, share = 1): void {
  const { kernel } = buffers.workspace
  for (const { gradients } of batch.tables) gradients.fill(0)
  for (const rows of buffers.rows) {
    const { room, counts, slots } = buffers.groups[rows.group]!
    const { gradients: to, dim } = buffers.tables[rows.table]!
    const [cells, from] = [[room.at.inverse, counts.at, batch.samples, slots.length] as const, rows.gradient.at]
    if (rows.mask) kernel.mergeSequence(...cells, rows.targets.indexOf(0), from, dim, lengthOf(rows, batch), to.at)
    else if (rows.straight && batch.groups[rows.group]!.single)
      kernel.mergeSingle(room.at.inverse, batch.samples * slots.length, from, dim, to.at)
    else kernel.mergePooled(...cells, rows.targetsAt.at, from, dim, rows.spec.slots.length, to.at, poolingOf(rows))
  }
  if (share !== 1) for (const { gradients } of batch.tables) kernel.scale(gradients.byteOffset, gradients.length, share)
}

export function lengthOf({ spec }: RowsRegions, { lengths }: LoadedBatch): number {
  const length = spec.shape[1]!
  return typeof length === 'number' ? length : lengths[length]!
}

function poolingOf({ spec }: RowsRegions): number {
  return POOLINGS[spec.pooling as keyof typeof POOLINGS]
}
