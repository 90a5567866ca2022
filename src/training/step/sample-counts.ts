/** @file What is counted sample by sample beside the kernel's histograms: samples that weigh differently, AUC within groups. */
import { UserError } from '../../base/util/index.ts'
import type { Batch, Slot } from '../../data/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { AUC_BUCKETS, AUC_THRESHOLDS, emptyAuc, GroupedAuc, type MetricSpec } from '../../weights/metric/index.ts'
import { isPlainAuc, type StepBuffers } from './buffers.ts'

type CountedSpec = Extract<MetricSpec, { kind: 'auc' | 'grouped' }>
type GroupedSpec = Extract<MetricSpec, { kind: 'grouped' }>
type Place = Pick<Batch, 'epoch' | 'index' | 'size'>

export class SampleCounts {
  readonly #program: Program
  readonly #slots: readonly Slot[]
  readonly #specs: readonly CountedSpec[]
  readonly #histograms = new Map<string, Float64Array>()
  readonly #groups = new Map<string, GroupedAuc>()

  constructor(program: Program, metrics: readonly MetricSpec[], slots: readonly Slot[]) {
    this.#program = program
    this.#slots = slots
    const scored = metrics.filter((spec) => spec.kind === 'auc' || spec.kind === 'grouped')
    this.#specs = scored.filter((spec) => !isPlainAuc(spec))
    this.reset()
  }

  add(spec: CountedSpec, buffers: StepBuffers, place: Place): void {
    const { size } = place
    const { buffer } = buffers.workspace
    const floats = (name: string, width = 1) => new Float32Array(buffer, buffers.fetches.get(name)!.at, size * width)
    const columns = this.#columns(spec.prediction)
    const [predictions, labels] = [floats(spec.prediction, columns), floats(spec.label)]
    const weights = spec.weight === undefined ? undefined : floats(spec.weight)
    if (weights) checkWeights(weights, place)
    const keys = spec.kind === 'grouped' ? this.#keys(spec, buffers, size) : undefined
    const groups = this.#groups.get(spec.name)
    const histogram = this.#histograms.get(spec.name)
    for (let i = 0; i < size; i++) {
      const prediction = predictions[i * columns + columns - 1]!
      const [isPositive, weight] = [labels[i]! > 0, weights ? weights[i]! : 1]
      if (keys) groups!.add(keys(i), prediction, isPositive, weight)
      else if (prediction >= 0 && prediction <= 1)
        histogram![(isPositive ? 0 : AUC_BUCKETS / 2) + Math.floor(prediction * AUC_THRESHOLDS)]! += weight
    }
  }

  histograms(): Record<string, Float64Array> {
    return Object.fromEntries([...this.#histograms].map(([name, counts]) => [name, counts.slice()]))
  }

  groups(): Record<string, Float64Array> {
    return Object.fromEntries([...this.#groups].map(([name, groups]) => [name, groups.state()]))
  }

  reset(): void {
    for (const spec of this.#specs) {
      if (spec.kind === 'grouped')
        this.#groups.set(spec.name, new GroupedAuc(spec.entries, spec.each, spec.weight !== undefined))
      else this.#histograms.set(spec.name, emptyAuc())
    }
  }

  #columns(name: string): number {
    const { shape } = this.#program.fetches.find((fetch) => fetch.name === name)!
    return shape.length > 1 ? (shape.at(-1) as number) : 1
  }

  /** The group of each sample: a whole number, or its first sign of a slot (0 where it has none). */
  #keys({ by }: GroupedSpec, buffers: StepBuffers, size: number): (sample: number) => bigint {
    const { buffer } = buffers.workspace
    const sparse = this.#slots.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
    const slot = by.kind === 'slot' ? sparse.indexOf(by.name) : -1
    if (slot < 0) {
      const region = (by.kind === 'slot' ? buffers.feeds : buffers.fetches).get(by.name)!
      const values = new BigInt64Array(buffer, region.at, size)
      return (sample) => BigInt.asUintN(64, values[sample]!)
    }
    const signs = new BigUint64Array(buffer, buffers.signs.at, buffers.signs.bytes / 8)
    const counts = new Uint32Array(buffer, buffers.counts.at, size * sparse.length)
    // Asked for in order: the place moves on from one sample to the next.
    let [cell, at] = [0, 0]
    return (sample) => {
      for (const end = sample * sparse.length + slot; cell < end; cell++) at += counts[cell]!
      return counts[cell]! > 0 ? signs[at]! : 0n
    }
  }
}

function checkWeights(weights: Float32Array, { epoch, index }: Place): void {
  const sample = weights.findIndex((weight) => !(weight >= 0 && weight < Number.POSITIVE_INFINITY))
  if (sample < 0) return
  throw new UserError(
    `A sample weighs ${weights[sample]}; weights are numbers from 0 on. It is sample ${sample} of batch ${index}, epoch ${epoch}, from 0.`,
    { code: 'DATA_WEIGHT', hint: 'Mend the data; a sample that shall not count weighs 0.' },
  )
}
