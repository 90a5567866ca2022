/** @file Losses and metrics. */
import { sigmoidCrossEntropy, softmaxCrossEntropy, squareError } from '../../../graph/nn/index.ts'
import {
  cast,
  equal,
  log,
  maximum,
  mean,
  mul,
  neg,
  reshape,
  sum,
  type Tensor,
  takeAlong,
  topK,
} from '../../../graph/program/index.ts'
import { AUC_PARTS, tensorOf, Variable, variableOf } from '../variable.ts'
import { programOf } from './dense.ts'

export interface LabelledOptions {
  readonly input: Variable
  readonly label: Variable
}

/** -ln p of the label's class, [-1, 1]; with `softLabel`, labels are probabilities of all classes. */
export function crossEntropy({
  input,
  label,
  softLabel = false,
}: LabelledOptions & { readonly softLabel?: boolean }): Variable {
  const program = programOf([input, label])
  const [p, y] = [tensorOf(input), tensorOf(label)]
  const name = program.uniqueName('cross_entropy')
  if (softLabel) return variableOf(program, name, neg(sum(mul(y, logOf(p)), -1, true)))
  // Of what softmax gave, the exact form on its operand: faster, and without 0 under the logarithm.
  const made = p.builder.definition(p)
  const [logits] = made?.op.kind === 'softmax' && made.op.axis === p.shape.length - 1 ? made.inputs : []
  return variableOf(
    program,
    name,
    logits ? softmaxCrossEntropy(logits, y) : neg(logOf(takeAlong(p, columns(y, p), -1))),
  )
}

const SMALLEST = 1e-20

function logOf(p: Tensor): Tensor {
  return log(maximum(p, SMALLEST))
}

/** Class numbers with the dimensions of the predictions, the last one 1. */
function columns(label: Tensor, prediction: Tensor): Tensor {
  return reshape(label, [...prediction.shape.slice(0, -1), 1])
}

/** (input - label)^2 */
export function squareErrorCost({ input, label }: LabelledOptions): Variable {
  return costOf('square_error_cost', squareError, input, label)
}

type Labelled<K extends string> = { readonly [P in K | 'label']: Variable }

export function sigmoidCrossEntropyWithLogits({ x, label }: Labelled<'x'>): Variable {
  return costOf('sigmoid_cross_entropy_with_logits', sigmoidCrossEntropy, x, label)
}

export function softmaxWithCrossEntropy({ logits, label }: Labelled<'logits'>): Variable {
  return costOf('softmax_with_cross_entropy', softmaxCrossEntropy, logits, label)
}

function costOf(kind: string, cost: (x: Tensor, y: Tensor) => Tensor, input: Variable, label: Variable): Variable {
  const program = programOf([input, label])
  return variableOf(program, program.uniqueName(kind), cost(tensorOf(input), tensorOf(label)))
}

/** The share of samples whose label is among the k most likely classes. */
export function accuracy({ input, label, k = 1 }: LabelledOptions & { readonly k?: number }): Variable {
  const program = programOf([input, label])
  const p = tensorOf(input)
  const among = cast(equal(topK(p, k).indices, columns(tensorOf(label), p)), 'float32')
  return variableOf(program, program.uniqueName('accuracy'), mean(sum(among, -1)))
}

export interface AucOptions extends LabelledOptions {
  /** Kept for fluid's sake: there are 4096 buckets. */
  readonly numThresholds?: number
  /** Batches that the batch AUC looks back on. @default 1 */
  readonly slideSteps?: number
}

/** [auc over all batches so far, auc over the last batches, the counts behind both]; of several columns the last counts. */
export function auc({ input, label, slideSteps = 1 }: AucOptions): readonly [Variable, Variable, readonly Variable[]] {
  const program = programOf([input, label])
  const name = program.uniqueName('auc')
  const measure = { name, prediction: input, label, slideSteps: Math.max(1, slideSteps) }
  tensorOf(input)
  tensorOf(label)
  const [all, batch, ...states] = AUC_PARTS.map(
    (part, i) =>
      new Variable(program, {
        name: `${name}.tmp_${i}`,
        dtype: 'float32',
        shape: [1],
        source: { kind: 'auc', part, measure },
      }),
  )
  return [all!, batch!, states]
}
