/** @file A fluid program as the trainer takes it: graphs with and without gradients, what is measured, optimizers. */

import type { Slot } from '../../data/index.ts'
import { backward, inference } from '../../graph/autodiff/index.ts'
import { reshape, sizeOf, type Tensor } from '../../graph/program/index.ts'
import { metricFetches, metricSpec, type TracedModel } from '../../model/index.ts'
import type { MetricSpec } from '../../weights/metric/index.ts'
import type { OptimizerSpec } from '../../weights/optim/index.ts'
import type { TrainingProgram } from '../fleet/index.ts'
import { noOptimizer } from './errors.ts'
import type { Program } from './program.ts'
import { type AucMeasure, tensorOf, type Variable } from './variable.ts'

/** The program with its loss, everything measured, and the optimizers of its weights and tables. */
export function tracedModel(program: Program): TracedModel {
  const { loss, optimizer } = minimizedOf(program, 'training')
  const { fetches, specs } = measuredFetches(program)
  const built = program.builder.build({ loss: scalar(tensorOf(loss)), ...fetches })
  const names = ['loss', ...Object.keys(fetches)]
  return {
    slots: slotsOf(program.data),
    train: backward(built, 'loss'),
    infer: inference(built, names),
    metrics: specs,
    outputs: [],
    optimizer,
    tableOptimizers: tableOptimizers(program, optimizer),
  }
}

/** What fleet is given of a program. */
export function trainingProgram(program: Program): TrainingProgram {
  const rows = [...program.tables].map(([name, table]) => [name, table.rows] as const)
  return { model: tracedModel(program), seed: program.randomSeed, tableRows: Object.fromEntries(rows) }
}

export function minimizedOf(program: Program, what: string) {
  if (!program.minimized) throw noOptimizer(what)
  return program.minimized
}

/** Data in this order as the reader's slots: what tables look up is sparse, the rest has a fixed width. */
export function slotsOf(data: readonly Variable[]): Slot[] {
  return data.map((variable): Slot => {
    const { name, dtype, shape, settled, lodLevel } = variable
    if (settled?.kind === 'signs' || (lodLevel > 0 && !settled)) return { kind: 'sparse', name }
    const width = shape.slice(1).reduce((product, dim) => product * dim, 1)
    return { kind: 'dense', name, width, dtype: dtype === 'int64' ? 'int64' : 'float32' }
  })
}

/** The AUCs of a program, each once. */
export function aucMeasures(program: Program): readonly AucMeasure[] {
  const found = program.variables.flatMap(({ source }) => (source.kind === 'auc' ? [source.measure] : []))
  return [...new Set(found)]
}

/** AUCs, and every number that the program computes once a batch, as fetches under names of their own. */
function measuredFetches(program: Program): { fetches: Record<string, Tensor>; specs: MetricSpec[] } {
  const aucs = aucMeasures(program).map(({ name, prediction, label }) => {
    const item = { kind: 'auc', prediction: tensorOf(prediction), label: tensorOf(label) } as const
    return [name, item] as const
  })
  const numbers = program.variables.filter((variable) => isNumber(variable) && variable !== program.minimized?.loss)
  const means = numbers.map(
    (variable) => [variable.name, { kind: 'mean', value: scalar(tensorOf(variable)) } as const] as const,
  )
  return metricFetches({ metrics: Object.fromEntries([...aucs, ...means]) })
}

function isNumber({ source, dtype }: Variable): boolean {
  return source.kind === 'tensor' && dtype === 'float32' && sizeOf(source.tensor.shape) === 1
}

/** What an AUC is called among the fetches. */
export function aucSpec({ name }: AucMeasure): Extract<MetricSpec, { kind: 'auc' }> {
  return metricSpec(name, 'auc') as Extract<MetricSpec, { kind: 'auc' }>
}

/** fluid's numbers are vectors of one. */
export function scalar(tensor: Tensor): Tensor {
  return tensor.shape.length === 0 ? tensor : reshape(tensor, [])
}

function tableOptimizers(program: Program, optimizer: OptimizerSpec): Record<string, OptimizerSpec> {
  const own = [...program.tables].flatMap(([name, { l2, learningRate }]) => {
    if (l2 === undefined && learningRate === undefined) return []
    const rate = optimizer.learningRate * (learningRate ?? 1)
    return [[name, { ...optimizer, learningRate: rate, l2: l2 ?? optimizer.l2 }] as const]
  })
  return Object.fromEntries(own)
}
