/** @file A server's weights in float64 and plain arithmetic: slow, exact, what distributed training is proved with. Rows move only when touched. */

import { kernelRule, type OptimizerSpec, type StepFactors, stepFactors } from '../../weights/optim/index.ts'
import { applyReference } from '../../weights/optim/reference.testing.ts'
import {
  createLocalParams,
  denseLayout,
  initialDense,
  LocalParams,
  mergeDense,
  type SignGroups,
  sliceLayout,
  stateRuns,
} from '../../weights/params/index.ts'
import { AccessorReference } from '../../weights/table/accessor-reference.testing.ts'
import type { AccessorRow } from '../../weights/table/accessor-row.ts'
import type { KernelStoreOptions } from './kernel-store.ts'
import type { Contribution, DenseState, Gradients, ParamStore, RowBlock } from './store.ts'

/** Weight and optimizer state of a row or of the dense slice: weights, then each run of state. */
type Row = Float64Array

export class ReferenceStore implements ParamStore {
  readonly precision = 'float64'
  readonly dims: readonly number[]
  readonly denseSize: number
  steps = 0
  readonly #options: KernelStoreOptions
  /** Asked only how a new row begins. */
  readonly #initial: LocalParams
  #tables: readonly Map<bigint, Row>[] = []
  /** By table, where it has one; its rows are kept there. */
  #accessors: readonly (AccessorReference | undefined)[] = []
  readonly #dense: Row

  get rowCounts(): readonly number[] {
    return this.#tables.map(({ size }) => size)
  }

  constructor(options: KernelStoreOptions) {
    const { program, optimizer, slice } = options
    this.#options = options
    this.#initial = new LocalParams(createLocalParams({ ...options, threads: 1, segments: 1 }), 0)
    this.dims = program.tables.map(({ dim }) => dim)
    this.denseSize = slice.to - slice.from
    this.#dense = new Float64Array(this.denseSize * (1 + kernelRule(optimizer).states))
    this.reset()
  }

  reset(): void {
    const { program, optimizer, seed, slice } = this.#options
    const { states, stateInit } = kernelRule(optimizer)
    this.steps = 0
    this.#tables = program.tables.map(() => new Map())
    this.#accessors = this.#initial.handle.tables.map(
      ({ layout: { accessor, seed: own } }) => accessor && new AccessorReference(accessor, own, (value) => value),
    )
    this.#dense.fill(0)
    if (states > 0) this.#dense.fill(stateInit, this.denseSize, 2 * this.denseSize)
    this.#dense.set(initialDense(program, denseLayout(program, optimizer), seed, slice))
  }

  pull({ groups, tableGroups }: SignGroups, insert: boolean): Float64Array[] {
    return tableGroups.map((group, t) => {
      const { signs } = groups[group]!
      const values = new Float64Array(signs.length * this.dims[t]!)
      for (const [i, sign] of signs.entries()) values.set(this.#weights(t, sign, insert), i * this.dims[t]!)
      return values
    })
  }

  pullDense(): Float64Array {
    return this.#dense.slice(0, this.denseSize)
  }

  get shapes(): never {
    throw new Error('internal: the exact store takes no part in geo')
  }

  pullRows(): never {
    return this.shapes
  }

  addRows(): never {
    return this.shapes
  }

  #pushRows({ groups, tableGroups, gradients, showClick, samples = 1 }: Omit<Gradients, 'dense'>, step: number): void {
    for (const [t, group] of tableGroups.entries()) {
      const dim = this.dims[t]!
      const rule = { optimizer: this.#optimizer(t), factors: stepFactors(this.#optimizer(t), step) }
      const accessor = this.#accessors[t]
      for (const [i, sign] of groups[group]!.signs.entries()) {
        const own = gradients[t]!.subarray(i * dim, (i + 1) * dim)
        const [slot = 0, show = 0, click = 0] = showClick?.[group]?.subarray(3 * i) ?? []
        if (accessor) accessor.push(sign, [...own], [slot, show, click], samples, BigInt(step))
        else apply(this.#row(t, sign, true), dim, 0, own, rule)
      }
    }
  }

  push({ dense, ...rows }: Gradients): number {
    const step = ++this.steps
    this.#pushRows(rows, step)
    const { program, optimizer, slice } = this.#options
    const layout = sliceLayout(denseLayout(program, optimizer), slice.from, slice.to)
    const factors = stepFactors(optimizer, step)
    for (const { kind, at, size, trainable, l2, rate } of layout.entries) {
      const values = dense.subarray(at, at + size)
      if (kind === 'state') this.#dense.set(values, at)
      const own = { ...factors, rate: factors.rate * rate }
      if (trainable) apply(this.#dense, this.denseSize, at, values, { optimizer, factors: own, l2 })
    }
    return step
  }

  merge(contributions: readonly Contribution[]): Gradients {
    const parts = contributions.filter(({ samples }) => samples > 0)
    const total = parts.reduce((sum, { samples }) => sum + samples, 0)
    const weights = parts.map(({ samples }) => samples / total)
    const { tableGroups } = parts[0]!
    const merged = parts[0]!.groups.map((_, g) => mergeSigns(parts.map((part) => part.groups[g]!.signs)))
    const gradients = tableGroups.map((group, t) => {
      const dim = this.dims[t]!
      const sum = new Float64Array(merged[group]!.signs.length * dim)
      for (const [p, part] of parts.entries()) {
        for (const [i, at] of merged[group]!.places[p]!.entries())
          for (let d = 0; d < dim; d++) sum[at * dim + d]! += weights[p]! * part.gradients[t]![i * dim + d]!
      }
      return sum
    })
    const { program, optimizer, slice } = this.#options
    const states = stateRuns(program, sliceLayout(denseLayout(program, optimizer), slice.from, slice.to))
    const denses = parts.map((part) => part.dense)
    const dense = mergeDense(denses, weights, states, this.#dense, new Float64Array(this.denseSize))
    const showClick = parts[0]!.showClick?.map((_, g) => {
      const sum = new Float32Array(3 * merged[g]!.signs.length)
      for (const [p, part] of parts.entries()) {
        for (const [i, at] of merged[g]!.places[p]!.entries()) {
          const [slot = 0, show = 0, click = 0] = part.showClick![g]!.subarray(3 * i)
          sum.set([slot, sum[3 * at + 1]! + show, sum[3 * at + 2]! + click], 3 * at)
        }
      }
      return sum
    })
    return { groups: merged, tableGroups, gradients, dense, samples: total, showClick }
  }

  shrink(table: number): number {
    return this.#accessors[table]?.shrink() ?? 0
  }

  *scan(table: number): Generator<RowBlock> {
    for (const [sign, row] of this.#accessors[table]?.rows ?? [])
      yield { signs: BigUint64Array.of(sign), rows: new Uint8Array(accessorValues(row).buffer) }
    for (const [sign, row] of this.#tables[table]!)
      yield { signs: BigUint64Array.of(sign), rows: new Uint8Array(row.slice().buffer) }
  }

  changed(table: number): Generator<RowBlock> {
    return this.scan(table) // what it is compared by is the rows, not how few there are
  }

  forgetChanges(): void {}

  load(table: number, { signs, rows }: RowBlock): void {
    if (this.#accessors[table]) throw new Error("internal: the exact store does not load an accessor's rows")
    const bytes = rows.byteLength / signs.length
    for (const [i, sign] of signs.entries())
      this.#tables[table]!.set(sign, new Float64Array(rows.slice(i * bytes, (i + 1) * bytes).buffer))
  }

  dense(): DenseState {
    return { bytes: new Uint8Array(this.#dense.buffer), steps: this.steps }
  }

  loadDense({ bytes, steps }: DenseState): void {
    new Uint8Array(this.#dense.buffer).set(bytes)
    this.steps = steps
  }

  #weights(table: number, sign: bigint, insert: boolean): ArrayLike<number> {
    const accessor = this.#accessors[table]
    return accessor ? accessor.pull(sign) : this.#row(table, sign, insert).subarray(0, this.dims[table])
  }

  #optimizer(table: number): OptimizerSpec {
    const { program, tableOptimizers = {}, optimizer } = this.#options
    return tableOptimizers[program.tables[table]!.name] ?? optimizer
  }

  #row(table: number, sign: bigint, insert: boolean): Row {
    const known = this.#tables[table]!.get(sign)
    if (known) return known
    const dim = this.dims[table]!
    const { states, stateInit } = kernelRule(this.#optimizer(table))
    const row = new Float64Array(dim * (1 + states)).fill(states > 0 ? stateInit : 0, dim, 2 * dim)
    const weights = new Float32Array(dim)
    const one = { signs: BigUint64Array.of(sign), lengths: Uint32Array.of(1) }
    this.#initial.tables[table]!.lookup(one, weights, false)
    row.set(weights)
    if (insert) this.#tables[table]!.set(sign, row)
    return row
  }
}

interface Rule {
  readonly optimizer: OptimizerSpec
  readonly factors: StepFactors
  readonly l2?: number
}

/** Applies a rule to row[at ...]; states follow at multiples of `stride`. */
function apply(row: Row, stride: number, at: number, gradients: ArrayLike<number>, rule: Rule): void {
  const { optimizer, factors, l2 = optimizer.l2 ?? 0 } = rule
  const kernel = kernelRule(optimizer)
  for (let i = 0; i < gradients.length; i++) {
    const state = Array.from({ length: kernel.states }, (_, s) => row[(s + 1) * stride + at + i]!)
    const cell = { weight: row[at + i]!, state }
    applyReference(kernel, factors, l2, cell, gradients[i]!, (value) => value)
    row[at + i] = cell.weight
    for (const [s, value] of cell.state.entries()) row[(s + 1) * stride + at + i] = value
  }
}

/** An accessor's row as numbers, for comparisons. */
function accessorValues(row: AccessorRow): Float64Array {
  const { slot, unseenDays, deltaScore, show, click, seen, admitted, embed, embedx } = row
  const parts = [embed, ...(embedx ? [embedx] : [])].flatMap(({ weights, state }) => [...weights, ...state])
  return Float64Array.of(slot, unseenDays, deltaScore, show, click, seen, admitted ? 1 : 0, ...parts)
}

/** Distinct signs in order of arrival, and where each part's signs went. */
function mergeSigns(parts: readonly BigUint64Array[]) {
  const places = new Map<bigint, number>()
  const found = parts.map((signs) =>
    [...signs].map((sign) => {
      const place = places.get(sign) ?? places.size
      places.set(sign, place)
      return place
    }),
  )
  return { signs: BigUint64Array.from(places.keys()), lengths: Uint32Array.of(places.size), places: found }
}
