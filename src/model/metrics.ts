/** @file What a model may measure: numbers, and PaddleRec 1.x's metric classes, which are several numbers and a line of words. */

import { namesOf, optionError, refuseOptions } from '../base/util/index.ts'
import type { SparseSlot } from '../graph/nn/index.ts'
import {
  abs,
  add,
  cast,
  greater,
  log,
  maximum,
  mean,
  minimum,
  mul,
  neg,
  oneHot,
  reshape,
  sigmoid,
  slice,
  square,
  sub,
  sum,
  type Tensor,
  takeAlong,
  topK,
} from '../graph/program/index.ts'
import { GROUP_ENTRIES, type ReportSpec } from '../weights/metric/index.ts'
import { sampleWeightOf } from './sample-weight.ts'

/** What is measured; made by the functions of `metric`. */
export type Metric =
  | ({ readonly kind: 'auc' } & Scored)
  | { readonly kind: 'mean'; readonly value: Tensor }
  /** One sum over all samples by another. */
  | { readonly kind: 'ratio'; readonly above: Tensor; readonly below: Tensor }
  | ({ readonly kind: 'gauc'; readonly group: SparseSlot | Tensor; readonly entries: number } & Scored)

interface Scored {
  readonly prediction: Tensor
  readonly label: Tensor
  readonly weight?: Tensor | undefined
}

/** Options of the metrics that look at each sample. */
export interface MetricOptions {
  /** How much each sample counts, [B, 1]; false: all alike. @default the model's sampleWeight, else all alike */
  readonly weight?: Tensor | false | undefined
}

/** Options of metric.gauc. */
export interface GaucOptions extends MetricOptions {
  /** Pairs of a group and a bucket of predictions that a thread keeps at most (some 100 bytes each); beyond, groups are sampled by hash. @default 262144 */
  readonly entries?: number | undefined
}

/** Several metrics that make one report; made by the other functions of `metric`. */
export interface MetricReport {
  readonly kind: 'report'
  readonly spec: ReportSpec
  readonly parts: Readonly<Record<string, Metric>>
}

/**
 * What a model may measure: numbers, and reports of several numbers. Each is one over all samples, whoever read them.
 *
 * @example metrics: { auc: metric.auc(predict, click) }
 */
export const metric = namesOf('metric', {
  /** Area under the ROC curve; of a prediction with several columns the last one counts. */
  auc: (prediction: Tensor, label: Tensor, options: MetricOptions = {}): Metric => {
    checkScored('auc', prediction, label)
    return { kind: 'auc', prediction, label, weight: weightOf('auc', prediction, options) }
  },
  /** Mean over samples: of a scalar that is a batch mean already (which weights do not reach), or of all elements of a tensor. */
  mean: (value: Tensor, options: MetricOptions = {}): Metric => {
    const weight = weightOf('mean', value, options)
    if (value.shape.length === 0) return { kind: 'mean', value }
    if (!weight) return { kind: 'mean', value: mean(float(value)) }
    return { kind: 'ratio', above: mean(mul(float(asColumn(value)), weight)), below: mean(weight) }
  },
  /**
   * AUC within groups, such as the samples of one user: the mean over groups with samples of both labels, each counted as often as
   * it has samples. The group is the first sign of a sparse slot, or an int64 tensor [B, 1]. Known at the end of a pass.
   */
  gauc: (prediction: Tensor, label: Tensor, group: SparseSlot | Tensor, options: GaucOptions = {}): Metric => {
    const { entries = GROUP_ENTRIES, ...rest } = options
    checkScored('gauc', prediction, label)
    checkGroup(group)
    if (!(Number.isSafeInteger(entries) && entries > 0))
      throw optionError(`metric.gauc: entries is ${entries}`, 'Give a whole number above 0, such as 262144.')
    return { kind: 'gauc', prediction, label, group, entries, weight: weightOf('gauc', prediction, rest, GAUC) }
  },
  /** Mean of -log of the probability that was predicted for the label (0 to 1); probabilities are kept 1e-7 away from 0 and 1. */
  logLoss: (prediction: Tensor, label: Tensor, options: MetricOptions = {}): Metric => {
    const { p, y } = probabilities('logLoss', prediction, label)
    const kept = minimum(maximum(p, EPSILON), 1 - EPSILON)
    const own = add(mul(y, log(kept)), mul(sub(1, y), log(sub(1, kept))))
    return metric.mean(neg(own), options)
  },
  /** Clicks over predicted clicks: above 1 where predictions are too low. */
  copc: (prediction: Tensor, label: Tensor, options: MetricOptions = {}): Metric => {
    const { p, y } = probabilities('copc', prediction, label)
    const weighed = weigher('copc', prediction, options)
    return { kind: 'ratio', above: weighed(y), below: weighed(p) }
  },
  /** Predicted clicks over clicks: above 1 where predictions are too high. */
  calibration: (prediction: Tensor, label: Tensor, options: MetricOptions = {}): Metric => {
    const { p, y } = probabilities('calibration', prediction, label)
    const weighed = weigher('calibration', prediction, options)
    return { kind: 'ratio', above: weighed(p), below: weighed(y) }
  },

  /** PaddleRec 1.x's AUC: beside the area, errors and calibration of a predicted click rate. */
  aucReport: (prediction: Tensor, label: Tensor): MetricReport => {
    const p = lastColumn(prediction)
    const y = float(label)
    const error = sub(p, y)
    const means = { abserr: abs(error), sqrerr: square(error), prob: p, q: sigmoid(p), label: y }
    return {
      kind: 'report',
      spec: { kind: 'AUC' },
      parts: { auc: metric.auc(prediction, label, { weight: false }), ...meansOf(means) },
    }
  },

  /** Precision, recall and F1 of the most likely of `classNum` classes. */
  precisionRecall: (input: Tensor, label: Tensor, classNum: number): MetricReport => {
    const [predicted, actual] = [oneHot(topK(input, 1).indices, classNum), oneHot(label, classNum)]
    const shares = { tp: mul(predicted, actual), predicted, actual }
    const parts = Object.entries(shares).flatMap(([name, hot]) =>
      Array.from({ length: classNum }, (_, c) => [`${name}${c}`, slice(hot, 1, c, c + 1)] as const),
    )
    return { kind: 'report', spec: { kind: 'PrecisionRecall', classNum }, parts: meansOf(Object.fromEntries(parts)) }
  },

  /** How often the label [B, 1] is among the k highest of the scores [B, classes]. */
  recallK: (input: Tensor, label: Tensor, k = 20): MetricReport => {
    const own = takeAlong(input, label, 1)
    const above = sum(float(greater(input, own)), 1, true)
    return { kind: 'report', spec: { kind: 'RecallK', k }, parts: meansOf({ hit: float(greater(k, above)) }) }
  },

  /** Pairs whose positive scores higher, against those whose does not; a tie is wrong. */
  posNegRatio: (positive: Tensor, negative: Tensor): MetricReport => ({
    kind: 'report',
    spec: { kind: 'PosNegRatio' },
    parts: meansOf({ right: float(greater(positive, negative)) }),
  }),
} as const)

/** One number a sample each, or scores of classes beside it: the histogram reads so many. */
function checkScored(name: string, prediction: Tensor, label: Tensor): void {
  const rows = prediction.shape[0]
  const isRows = prediction.shape.length >= 1 && prediction.shape.length <= 2
  const isLabel = label.shape[0] === rows && label.shape.slice(1).every((dim) => dim === 1)
  // Whole numbers that the model is said to predict are its labels; the shapes would fit, and the number be wrong.
  if (prediction.dtype === 'int64' && label.dtype === 'float32')
    throw optionError(
      `metric.${name}: the prediction is int64 ${shown(prediction)}, the label float32 ${shown(label)}: they seem to be swapped`,
      `Give the prediction first: metric.${name}(predict, click).`,
    )
  if (isRows && isLabel) return
  throw optionError(
    `metric.${name} of a prediction ${shown(prediction)} and a label ${shown(label)}`,
    'Give a prediction [B, 1] (or [B, classes], of which the last counts) and a label [B, 1] of the same samples.',
  )
}

/** float32's distance to the next number below 1, about: what log takes at most. */
const EPSILON = 1e-7
const OPTIONS = { weight: true } as const
const GAUC = { ...OPTIONS, entries: true } as const

function weightOf(name: string, of: Tensor, options: MetricOptions, known: object = OPTIONS): Tensor | undefined {
  const { weight = sampleWeightOf(of.builder), ...unknown } = options
  refuseOptions(`metric.${name}`, unknown, known)
  if (weight === false || weight === undefined) return undefined
  if (weight.shape[0] === 'B' && weight.shape.slice(1).every((dim) => dim === 1)) return float(asColumn(weight))
  throw optionError(`metric.${name}: weight is ${shown(weight)}`, 'Give one number a sample, [B, 1].')
}

function weigher(name: string, of: Tensor, options: MetricOptions): (value: Tensor) => Tensor {
  const weight = weightOf(name, of, options)
  return (value) => mean(weight ? mul(value, weight) : value)
}

/** Of the positive class, and of the label, [B, 1] each. */
function probabilities(name: string, prediction: Tensor, label: Tensor): { readonly p: Tensor; readonly y: Tensor } {
  checkScored(name, prediction, label)
  return { p: lastColumn(prediction), y: float(asColumn(label)) }
}

function checkGroup(group: SparseSlot | Tensor): void {
  const isSlot = typeof group === 'object' && 'kind' in group
  if (isSlot) return
  if (!('shape' in Object(group)))
    throw optionError(
      'metric.gauc: its third argument, the group, is no input of the model',
      "Give what sparse('user') returned: metric.gauc(predict, click, user).",
    )
  const isWhole = group.dtype === 'int64' && group.shape[0] === 'B' && group.shape.slice(1).every((dim) => dim === 1)
  if (!isWhole)
    throw optionError(
      `metric.gauc: the group is ${group.dtype} ${shown(group)}`,
      "Give what sparse('user') returned, or an int64 tensor [B, 1]: dense('user', 1, 'int64').",
    )
}

const shown = ({ shape }: Tensor) => `[${shape.join(', ')}]`
const asColumn = (x: Tensor): Tensor => (x.shape.length === 1 ? reshape(x, ['B', 1]) : x)
const float = (x: Tensor): Tensor => (x.dtype === 'float32' ? x : cast(x, 'float32'))

function lastColumn(prediction: Tensor): Tensor {
  const columns = prediction.shape[1] ?? 1
  return prediction.shape.length > 1 && columns !== 1 ? slice(prediction, 1, -1) : reshape(prediction, ['B', 1])
}

function meansOf(values: Readonly<Record<string, Tensor>>): Record<string, Metric> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, metric.mean(mean(value))]))
}
