/** @file A program's inference model: an export of what its targets need, and beside it what they were. Targets are values per sample: a loss is what it is the sum or mean of, an AUC the prediction it measures. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FolderLock } from '../../base/fs/index.ts'
import { suggest, UserError } from '../../base/util/index.ts'
import { joinColumns } from '../../data/index.ts'
import { inference } from '../../graph/autodiff/index.ts'
import type { TensorView } from '../../graph/engine/index.ts'
import type { Tensor } from '../../graph/program/index.ts'
import { planExport, writeExport } from '../../inference/export/index.ts'
import { AUC_THRESHOLDS, aucOf, emptyAuc } from '../../weights/metric/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import type { InferenceToWrite } from '../fleet/index.ts'
import type { Program } from './program.ts'
import { slotsOf } from './traced.ts'
import { tensorOf, type Variable } from './variable.ts'

/** Beside the export: what the targets were. */
export const TARGETS_FILE = 'fluid.json'

export interface InferenceModelOptions {
  readonly dirname: string
  readonly feeds: readonly string[]
  readonly targets: readonly Variable[]
  readonly params: LocalParams
  readonly lock: FolderLock
}

export async function writeInferenceModel(
  program: Program,
  { dirname, feeds, targets: variables, params, lock }: InferenceModelOptions,
): Promise<void> {
  const { targets, outputs } = planTargets(variables)
  const names = Object.keys(outputs)
  const built = program.builder.build(outputs)
  const slots = slotsOf(program.data)
  const { optimizer } = params.handle.dense
  const infer = inference(built, names)
  const model = { slots, train: built, infer, metrics: [], outputs: names, optimizer, tableOptimizers: {} }
  const plan = planExport(model, { feeds })
  const { randomSeed: seed } = program
  await writeExport({ folder: dirname, plan, params, epoch: 0, seed, samples: joinColumns(slots, []), lock })
  await writeFile(join(dirname, TARGETS_FILE), `${JSON.stringify({ feeds, targets }, null, 2)}\n`)
}

/** What fleet.saveInferenceModel calls on worker 0; without targets, the predictions whose AUC is measured, else the loss. */
export function inferenceWriter(program: Program) {
  return ({ targets, ...options }: InferenceToWrite): Promise<void> => {
    const aucs = program.variables.filter(({ source }) => source.kind === 'auc')
    const usual = aucs.length > 0 ? aucs.slice(0, 1) : [program.minimized!.loss]
    const named = targets.map((target) => variableOf(program, typeof target === 'string' ? target : target.name))
    return writeInferenceModel(program, { ...options, targets: named.length > 0 ? named : usual })
  }
}

function variableOf({ variables }: Program, name: string): Variable {
  const found = variables.find((variable) => variable.name === name)
  if (found) return found
  const near = suggest(
    name,
    variables.map((variable) => variable.name),
  )
  throw new UserError(`saveInferenceModel: the program has no variable "${name}"`, {
    code: 'FLUID_FETCH',
    hint: near ? `did you mean ${near}?` : 'pass variables of the program as targetVars',
  })
}

/** How a target follows from outputs that have one value per sample. */
export interface Target {
  readonly name: string
  readonly kind: 'output' | 'sum' | 'mean' | 'auc'
  /** The output. */
  readonly of: string
  /** For an AUC: the output that holds labels, or the data that is fed as such. */
  readonly label?: string
}

export interface TargetPlan {
  readonly targets: readonly Target[]
  /** By name; a prediction comes first, since the first is what an inference model scores by. */
  readonly outputs: Readonly<Record<string, Tensor>>
}

export function planTargets(variables: readonly Variable[]): TargetPlan {
  const planned = variables.map(planTarget)
  const order = (kind: Target['kind']) => planned.filter(({ target }) => (kind === 'auc') === (target.kind === 'auc'))
  const outputs = [...order('auc'), ...order('output')].flatMap((one) => Object.entries(one.outputs))
  return { targets: planned.map(({ target }) => target), outputs: Object.fromEntries(outputs) }
}

function planTarget(variable: Variable): { readonly target: Target; readonly outputs: Record<string, Tensor> } {
  const { name, source } = variable
  if (source.kind === 'auc') {
    const { prediction, label } = source.measure
    const target: Target = { name, kind: 'auc', of: prediction.name, label: label.name }
    const computed = label.source.kind === 'data' ? {} : { [label.name]: tensorOf(label) }
    return { target, outputs: { [prediction.name]: tensorOf(prediction), ...computed } }
  }
  const tensor = tensorOf(variable)
  if (tensor.shape[0] === 'B') return { target: { name, kind: 'output', of: name }, outputs: { [name]: tensor } }
  const made = tensor.builder.definition(tensor)
  const [summed] = made?.inputs ?? []
  if (summed?.shape[0] !== 'B' || (made!.op.kind !== 'sum' && made!.op.kind !== 'mean')) throw notPerSample(name)
  const of = `${name}.samples`
  return { target: { name, kind: made!.op.kind, of }, outputs: { [of]: summed } }
}

/** The target's value for a batch of outputs; labels may be among what was fed. */
export function targetValue(
  { kind, of, label }: Target,
  outputs: Readonly<Record<string, TensorView>>,
  fed: (name: string) => ArrayLike<unknown>,
): TensorView {
  const { data, dims } = outputs[of]!
  if (kind === 'output') return { data, dims }
  if (kind === 'auc')
    return { data: Float32Array.of(batchAuc(outputs[of]!, outputs[label!]?.data ?? fed(label!))), dims: [1] }
  const sum = Array.from(data as Float32Array).reduce((total, value) => total + value, 0)
  return { data: Float32Array.of(kind === 'sum' ? sum : sum / data.length), dims: [1] }
}

function batchAuc(prediction: TensorView, label: ArrayLike<unknown>): number {
  const histogram = emptyAuc()
  const samples = prediction.dims[0]!
  const columns = prediction.data.length / samples
  for (let i = 0; i < samples; i++) {
    const score = Number(prediction.data[(i + 1) * columns - 1])
    const bucket = Math.min(AUC_THRESHOLDS, Math.floor(score * AUC_THRESHOLDS))
    histogram[Number(label[i]) > 0 ? bucket : AUC_THRESHOLDS + 1 + bucket]! += 1
  }
  return aucOf(histogram)
}

function notPerSample(name: string): UserError {
  return new UserError(
    `"${name}" cannot be a target of an inference model: it does not follow from values per sample`,
    {
      code: 'FLUID_SAVE',
      hint: 'save a prediction, a loss that is the mean or sum of costs, or what fluid.layers.auc returned',
    },
  )
}
