/** @file The last layer over many classes (items of a catalogue, words): scores of all of them, or of a few drawn ones. */
import { type OptionNames, refuseOptions } from '../../base/util/index.ts'
import {
  cast,
  clip,
  concat,
  constant,
  expand,
  gemm,
  greater,
  type Initializer,
  reshape,
  sum,
  type Tensor,
  takeAlong,
} from '../program/index.ts'
import { Layer, type Variable } from './layer.ts'
import { firstClass, type SampledOptions, sampledLogits } from './sampled-loss.ts'

/** Options of ClassScores. */
export interface ClassScoresOptions {
  /** Columns of the operand. */
  readonly in: number
  readonly classes: number
  /** @default Xavier uniform */
  readonly init?: Initializer | undefined
  /** Multiplies the optimizer's rate. @default 1 */
  readonly learningRate?: number | undefined
}

/** Scores and where the true class stands among them. */
export interface Classified {
  /** [N, columns] */
  readonly logits: Tensor
  /** [N, 1] */
  readonly label: Tensor
}

const CLASS_SCORES: OptionNames<ClassScoresOptions> = { in: true, classes: true, init: true, learningRate: true }

/** One row a class: `weight` [classes, in] and `bias` [classes]. */
export class ClassScores extends Layer {
  readonly weight: Variable
  readonly bias: Variable
  readonly #classes: number
  readonly #width: number

  constructor({ in: width, classes, init = { kind: 'xavier_uniform' }, learningRate, ...rest }: ClassScoresOptions) {
    super()
    refuseOptions('nn.ClassScores', rest, CLASS_SCORES)
    this.#classes = classes
    this.#width = width
    this.weight = this.addParameter({ name: 'weight', shape: [classes, width], init, learningRate })
    this.bias = this.addParameter({ name: 'bias', shape: [classes], init: { kind: 'zeros' }, learningRate })
  }

  /** All classes: [.., in] -> [N, classes]. */
  logits(x: Tensor): Tensor {
    const { builder } = x
    const flat = reshape(x, [-1, this.#width])
    return gemm(flat, this.weight.on(builder), { bias: this.bias.on(builder), transposeB: true })
  }

  /** Vectors whose inner products are the logits, for `vectors` of a net: of the operand [B, in] and of all classes. */
  vectors(x: Tensor): { readonly user: Tensor; readonly item: Tensor } {
    const { builder } = x
    const one = expand(constant(builder, 1), [x.shape[0]!, 1])
    const bias = reshape(this.bias.on(builder), [this.#classes, 1])
    return { user: concat([x, one], 1), item: concat([this.weight.on(builder), bias], 1) }
  }

  /** All classes beside the label [.., 1] as it is. */
  all(x: Tensor, label: Tensor): Classified {
    return { logits: this.logits(x), label: reshape(label, [-1, 1]) }
  }

  /** The true class, in column 0, and `samples` drawn ones: [.., in] -> [N, 1 + samples]. The draws of a step are shared. */
  sampled(x: Tensor, label: Tensor, options: Pick<SampledOptions, 'samples' | 'sampler'>): Classified {
    const { builder } = x
    const { positive, negative } = sampledLogits(reshape(x, [-1, this.#width]), label, {
      ...options,
      name: this.path(),
      classes: this.#classes,
      weight: this.weight.on(builder),
      bias: this.bias.on(builder),
    })
    const logits = concat([positive, negative], 1)
    return { logits, label: firstClass(logits) }
  }
}

/** How many classes score above the true one: logits [N, C] and label [N, 1] -> [N, 1]. A label outside is taken for the nearest. */
export function classesAbove({ logits, label }: Classified): Tensor {
  const last = Number(logits.shape[1]) - 1
  const inside = cast(clip(cast(label, 'float32'), 0, last), 'int64') // an index outside would stop the engine, not the user
  return sum(cast(greater(logits, takeAlong(logits, inside, 1)), 'float32'), 1, true)
}
