/** @file What a model may measure: numbers, and PaddleRec 1.x's metric classes, which are several numbers and a line of words. */

import { namesOf, optionError } from '../base/util/index.ts'
import {
  abs,
  cast,
  greater,
  mean,
  mul,
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
import type { ReportSpec } from '../weights/metric/index.ts'

/** What is measured; made by `metric.auc` and `metric.mean`. */
export type Metric =
  | { readonly kind: 'auc'; readonly prediction: Tensor; readonly label: Tensor }
  | { readonly kind: 'mean'; readonly value: Tensor }

/** Several metrics that make one report; made by the other functions of `metric`. */
export interface MetricReport {
  readonly kind: 'report'
  readonly spec: ReportSpec
  readonly parts: Readonly<Record<string, Metric>>
}

/**
 * What a model may measure: metric.auc, metric.mean, and reports of several numbers.
 *
 * @example metrics: { auc: metric.auc(predict, click) }
 */
export const metric = namesOf('metric', {
  /** Area under the ROC curve; of a prediction with several columns the last one counts. */
  auc: (prediction: Tensor, label: Tensor): Metric => {
    checkAuc(prediction, label)
    return { kind: 'auc', prediction, label }
  },
  /** Mean over samples: of a scalar that is a batch mean already, or of all elements of a tensor. */
  mean: (value: Tensor): Metric => ({ kind: 'mean', value: value.shape.length === 0 ? value : mean(float(value)) }),

  /** PaddleRec 1.x's AUC: beside the area, errors and calibration of a predicted click rate. */
  aucReport: (prediction: Tensor, label: Tensor): MetricReport => {
    const p = lastColumn(prediction)
    const y = float(label)
    const error = sub(p, y)
    const means = { abserr: abs(error), sqrerr: square(error), prob: p, q: sigmoid(p), label: y }
    return { kind: 'report', spec: { kind: 'AUC' }, parts: { auc: metric.auc(prediction, label), ...meansOf(means) } }
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
function checkAuc(prediction: Tensor, label: Tensor): void {
  const rows = prediction.shape[0]
  const isRows = prediction.shape.length >= 1 && prediction.shape.length <= 2
  const isLabel = label.shape[0] === rows && label.shape.slice(1).every((dim) => dim === 1)
  if (isRows && isLabel) return
  const shown = ({ shape }: Tensor) => `[${shape.join(', ')}]`
  throw optionError(
    `metric.auc of a prediction ${shown(prediction)} and a label ${shown(label)}`,
    'Give a prediction [B, 1] (or [B, classes], of which the last counts) and a label [B, 1] of the same samples.',
  )
}

const float = (x: Tensor): Tensor => (x.dtype === 'float32' ? x : cast(x, 'float32'))

function lastColumn(prediction: Tensor): Tensor {
  const columns = prediction.shape[1] ?? 1
  return prediction.shape.length > 1 && columns !== 1 ? slice(prediction, 1, -1) : reshape(prediction, ['B', 1])
}

function meansOf(values: Readonly<Record<string, Tensor>>): Record<string, Metric> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, metric.mean(mean(value))]))
}
