/** @file A trainer thread's buffers for one program: where in the workspace every input and output of a step lies. */

import { MOST_WORKSPACE_BYTES, type Region, type Workspace, WorkspacePlan } from '../../base/kernel/index.ts'
import type { Slot } from '../../data/index.ts'
import { DATA_ARRAYS, type TensorData, type TensorView } from '../../graph/engine/index.ts'
import { type DType, evaluateDim, type Program, type ProgramRows, type Shape } from '../../graph/program/index.ts'
import { AUC_BUCKETS, type MetricSpec } from '../../weights/metric/index.ts'
import type { DenseLayout, DenseWindow } from '../../weights/params/index.ts'
import { type DistinctRoom, planDistinct } from '../../weights/table/index.ts'
import { tooLargeBatch } from './batch-room.ts'
import type { ShowClickSlots } from './show-click.ts'

/** The largest batch the buffers can hold. `lengths` are padded sequence lengths by symbol (T_<slot>). */
export interface Capacity {
  readonly samples: number
  readonly signs: number
  readonly lengths: Readonly<Record<string, number>>
}

/** The sparse slots that one or more tables look up, numbered among all sparse slots; their signs are made distinct together. */
export interface SlotGroup {
  readonly slots: readonly number[]
  /** True when these are all sparse slots of the model: signs need not be picked out. */
  readonly all: boolean
  /** Where show and click of its tables come from, if they have accessors. */
  readonly showClickBy: ShowClickSlots | undefined
}

export interface GroupRegions {
  /** Where the group's signs lie and are made distinct. */
  readonly room: DistinctRoom
  readonly counts: Region
  readonly wanted: Region
  readonly showClick: ShowClickRegions | undefined
}

/** Show and click by sample, numbers of the slots, and what they add up to by distinct sign. */
export interface ShowClickRegions {
  readonly shows: Region
  readonly clicks: Region
  readonly numbers: Region
  readonly out: Region
}

export interface RowsRegions {
  readonly spec: ProgramRows
  readonly table: number
  readonly group: number
  /** Per slot of the group, its place in the rows or -1 (pooled); the slot's number in the group (sequence). */
  readonly targets: readonly number[]
  readonly targetsAt: Region
  /** Every slot of the group in order: cells need no mapping. */
  readonly straight: boolean
  readonly value: Region
  readonly mask: Region | undefined
  readonly gradient: Region
}

/** A region that may lie outside the workspace. */
export interface DenseRegion extends Region {
  readonly outside?: ArrayBuffer | undefined
}

export interface StepBuffers {
  readonly workspace: Workspace
  readonly capacity: Capacity
  readonly signs: Region
  readonly counts: Region
  readonly groups: readonly (SlotGroup & GroupRegions)[]
  readonly tables: readonly {
    readonly group: number
    readonly dim: number
    readonly rows: Region
    readonly gradients: Region
  }[]
  readonly rows: readonly RowsRegions[]
  /** Dense weights and gradients: in the workspace, or where the keeper of the weights sees them. */
  readonly weights: DenseRegion
  readonly gradients: DenseRegion
  readonly feeds: ReadonlyMap<string, Region>
  readonly fetches: ReadonlyMap<string, DenseRegion>
  readonly histograms: ReadonlyMap<string, Region>
}

export interface BufferOptions {
  readonly program: Program
  readonly slots: readonly Slot[]
  readonly metrics: readonly MetricSpec[]
  readonly layout: DenseLayout
  readonly segments: number
  readonly capacity: Capacity
  /** Tables with accessors, by name, and where their show and click come from. @default none */
  readonly showClick?: Readonly<Record<string, ShowClickSlots>> | undefined
  /** @default in the workspace */
  readonly window?: DenseWindow | undefined
}

/** Lays out and opens a workspace. Called again, for a larger capacity, when a batch does not fit. */
export function openBuffers(options: BufferOptions): StepBuffers {
  const { plan, ...laidOut } = layOut(options)
  if (!(plan.bytes <= MOST_WORKSPACE_BYTES))
    throw tooLargeBatch(options.capacity, plan.bytes, (capacity) => layOut({ ...options, capacity }).plan.bytes)
  return { workspace: plan.open(), ...laidOut }
}

function layOut(options: BufferOptions): Omit<StepBuffers, 'workspace'> & { readonly plan: WorkspacePlan } {
  const { program, slots, metrics, layout, segments, capacity, showClick, window } = options
  const plan = new WorkspacePlan()
  const { samples, signs } = capacity
  const sparse = slots.filter((slot) => slot.kind === 'sparse').map(({ name }) => name)
  const slotGroups = groupSlots(program, sparse, showClick)
  const shared = { signs: plan.region(8 * signs), counts: plan.region(4 * samples * sparse.length) }
  const groups = slotGroups.map(({ group }) => ({
    ...group,
    ...groupRegions(plan, group, capacity, sparse.length, segments, shared),
  }))
  const tables = program.tables.map(({ name, dim }) => ({
    group: slotGroups.findIndex((item) => item.tables.includes(name)),
    dim,
    rows: plan.region(4 * signs * dim),
    gradients: plan.region(4 * signs * dim),
  }))
  const rows = program.rows.map((spec) => rowsRegions(plan, spec, { program, sparse, groups, tables, capacity }))
  const masks = new Map<string, Region>(
    rows.flatMap(({ spec, mask }) => (mask ? [[`${spec.name}.mask`, mask] as const] : [])),
  )
  const feeds = new Map(
    program.feeds.map((feed) => [feed.name, masks.get(feed.name) ?? plan.region(bytesOf(feed, capacity))]),
  )
  const weights = window ? outside(window.weights) : plan.region(4 * layout.floats)
  const gradients = window ? outside(window.gradients) : plan.region(4 * layout.floats)
  const fetches = fetchRegions(plan, program, { layout, rows, gradients, capacity })
  const histograms = new Map(
    metrics.flatMap((spec) => (isPlainAuc(spec) ? [[spec.name, plan.region(4 * AUC_BUCKETS)] as const] : [])),
  )
  return {
    plan,
    capacity,
    ...shared,
    groups,
    tables,
    rows,
    weights,
    gradients,
    feeds,
    fetches,
    histograms,
  }
}

/** Counted by the kernel; weights and groups are not. */
export const isPlainAuc = ({ kind, ...spec }: MetricSpec): boolean =>
  kind === 'auc' && !('weight' in spec && spec.weight !== undefined)

function outside({ buffer, byteOffset: at, byteLength: bytes }: Float32Array): DenseRegion {
  return { at, bytes, outside: buffer as ArrayBuffer }
}

/** Inputs and outputs of a program by name. */
export interface StepViews {
  readonly inputs: Readonly<Record<string, TensorView>>
  readonly outputs: Readonly<Record<string, TensorView>>
}

/** Inputs and outputs as tensors of `samples` samples, for the engine to bind. */
export function bindViews(
  program: Program,
  buffers: StepBuffers,
  layout: DenseLayout,
  samples: number,
  lengths: Capacity['lengths'],
): StepViews {
  const { buffer } = buffers.workspace
  const view = (item: { readonly shape: Shape; readonly dtype: DType }, region: DenseRegion): TensorView => {
    const dims = item.shape.map((dim) => evaluateDim(dim, (symbol) => (symbol === 'B' ? samples : lengths[symbol]!)))
    const size = dims.reduce((product, dim) => product * dim, 1)
    return { data: new DATA_ARRAYS[item.dtype](region.outside ?? buffer, region.at, size) as TensorData, dims }
  }
  const inputs: Record<string, TensorView> = {}
  for (const feed of program.feeds) inputs[feed.name] = view(feed, buffers.feeds.get(feed.name)!)
  for (const { spec, value } of buffers.rows) inputs[spec.name] = view(spec, value)
  const entries = new Map(layout.entries.map((entry) => [entry.name, entry]))
  for (const item of [...program.parameters, ...program.state]) {
    inputs[item.name] = view(item, within(buffers.weights, entries.get(item.name)!))
  }
  const outputs = Object.fromEntries(
    program.fetches.map((fetch) => [fetch.name, view(fetch, buffers.fetches.get(fetch.name)!)]),
  )
  return { inputs, outputs }
}

/** Where an entry of the dense layout lies in a run of weights or gradients. */
function within(run: DenseRegion, { at, size }: { readonly at: number; readonly size: number }): DenseRegion {
  return { ...run, at: run.at + 4 * at, bytes: 4 * size }
}

function bytesOf(
  { shape, dtype }: { readonly shape: Shape; readonly dtype: DType },
  { samples, lengths }: Capacity,
): number {
  const size = shape.reduce<number>(
    (product, dim) => product * evaluateDim(dim, (symbol) => (symbol === 'B' ? samples : lengths[symbol]!)),
    1,
  )
  return size * DATA_ARRAYS[dtype].BYTES_PER_ELEMENT
}

/** By table: its slot group. Tables of one group look up the same signs. */
export function tableGroups(
  program: Program,
  sparse: readonly string[],
  showClick?: BufferOptions['showClick'],
): number[] {
  const groups = groupSlots(program, sparse, showClick)
  return program.tables.map(({ name }) => groups.findIndex(({ tables }) => tables.includes(name)))
}

/** Tables that look up the same slots, and count show and click alike, share one group. */
function groupSlots(
  program: Program,
  sparse: readonly string[],
  showClick: BufferOptions['showClick'] = {},
): { group: SlotGroup; tables: string[] }[] {
  const groups = new Map<string, { group: SlotGroup; tables: string[] }>()
  for (const { name } of program.tables) {
    const used = new Set(program.rows.filter((rows) => rows.table === name).flatMap((rows) => rows.slots))
    const slots = sparse.flatMap((slot, i) => (used.has(slot) ? [i] : []))
    const showClickBy = showClick[name]
    const key = JSON.stringify([slots, showClickBy])
    const group = { slots, all: slots.length === sparse.length, showClickBy }
    const known = groups.get(key) ?? { group, tables: [] }
    known.tables.push(name)
    groups.set(key, known)
  }
  return [...groups.values()]
}

function groupRegions(
  plan: WorkspacePlan,
  group: SlotGroup,
  { samples, signs }: Capacity,
  sparseSlots: number,
  segments: number,
  shared: { readonly signs: Region; readonly counts: Region },
): GroupRegions {
  return {
    room: planDistinct(plan, signs, segments, group.all ? shared.signs.at : undefined),
    counts: group.all ? shared.counts : plan.region(4 * samples * group.slots.length),
    wanted: plan.region(sparseSlots),
    showClick: group.showClickBy && {
      shows: plan.region(4 * samples),
      clicks: plan.region(4 * samples),
      numbers: plan.region(4 * group.slots.length),
      out: plan.region(12 * signs),
    },
  }
}

interface RowsContext {
  readonly program: Program
  readonly sparse: readonly string[]
  readonly groups: readonly SlotGroup[]
  readonly tables: readonly { readonly group: number }[]
  readonly capacity: Capacity
}

function rowsRegions(
  plan: WorkspacePlan,
  spec: ProgramRows,
  { program, sparse, groups, tables, capacity }: RowsContext,
): RowsRegions {
  const table = program.tables.findIndex(({ name }) => name === spec.table)
  const { group } = tables[table]!
  const targets = groups[group]!.slots.map((slot) => spec.slots.indexOf(sparse[slot]!))
  const value = plan.region(bytesOf(spec, capacity))
  const length = spec.shape[1]!
  return {
    spec,
    table,
    group,
    targets,
    targetsAt: plan.region(4 * targets.length),
    straight: targets.every((target, i) => target === i),
    value,
    mask:
      spec.pooling === 'sequence'
        ? plan.region(bytesOf({ shape: ['B', length], dtype: 'float32' }, capacity))
        : undefined,
    gradient: plan.region(value.bytes),
  }
}

/** Gradients of weights and new state go straight to their place in the gradient run; the rest gets regions of its own. */
function fetchRegions(
  plan: WorkspacePlan,
  program: Program,
  context: {
    readonly layout: DenseLayout
    readonly rows: readonly RowsRegions[]
    readonly gradients: DenseRegion
    readonly capacity: Capacity
  },
): Map<string, DenseRegion> {
  const { layout, rows, gradients, capacity } = context
  const fixed = new Map<string, DenseRegion>()
  for (const entry of layout.entries) {
    fixed.set(`${entry.kind === 'state' ? 'state' : 'grad'}:${entry.name}`, within(gradients, entry))
  }
  for (const { spec, gradient } of rows) fixed.set(`grad:${spec.name}`, gradient)
  return new Map(
    program.fetches.map((fetch) => [fetch.name, fixed.get(fetch.name) ?? plan.region(bytesOf(fetch, capacity))]),
  )
}
