/** @file Samples that count more than others: the input that says so, and the loss as what its weights make of it. */
import { UserError, type Where } from '../base/util/index.ts'
import { type Builder, mean, mul, reshape, type Tensor } from '../graph/program/index.ts'

/** What a graph remembers of it. Keys that another copy of the package knows too: a user's file may load its own. */
const WEIGHT = Symbol.for('oarfish.sampleWeight')
const WEIGHED = Symbol.for('oarfish.weighedLoss')

export function setSampleWeight({ kept }: Builder, weight: Tensor): void {
  if (kept.has(WEIGHT))
    throw new UserError('sampleWeight is declared twice', {
      code: 'MODEL_FIELD',
      hint: 'A sample has one weight: multiply them where the data is made, or declare the other as dense(name, 1).',
    })
  kept.set(WEIGHT, weight)
}

/** The weight of each sample, [B, 1]; undefined: all count alike. */
export function sampleWeightOf({ kept }: Builder): Tensor | undefined {
  return kept.get(WEIGHT) as Tensor | undefined
}

/** The mean over the batch of weight times cost, where samples have weights. The mean of a cost, or the cost of each sample, is taken. */
export function weighedLoss(loss: Tensor, where?: Where): Tensor {
  const { builder } = loss
  const weight = sampleWeightOf(builder)
  if (!weight || builder.kept.get(WEIGHED) === loss) return loss
  const cost = costOf(loss)
  if (!cost) {
    const message = `inputs declare a sampleWeight, but the loss, ${shapeText(loss)}, is no mean over samples: weights cannot reach it`
    throw new UserError(message, {
      code: 'MODEL_LOSS',
      where,
      hint: 'return { loss: cost } with the cost of each sample, [B, 1], or loss: mean(cost) of all of it at once',
    })
  }
  const weighed = mean(mul(cost.shape.length === 1 ? reshape(cost, ['B', 1]) : cost, weight))
  builder.kept.set(WEIGHED, weighed)
  return weighed
}

/** The tensor of costs by sample that a loss is, or is the mean of. */
function costOf(loss: Tensor): Tensor | undefined {
  const { op, inputs } = loss.builder.definition(loss) ?? {}
  const cost = loss.shape.length === 0 && op?.kind === 'mean' ? inputs![0]! : loss
  return cost.shape[0] === 'B' && cost.shape.length <= 2 ? cost : undefined
}

const shapeText = ({ shape }: Tensor) => `[${shape.join(', ')}]`
