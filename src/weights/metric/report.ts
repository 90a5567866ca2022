/** @file Metrics that are more than a number: PaddleRec 1.x's classes, made of means and histograms, and the lines they end an epoch with. */
import { type AucHistogram, aucOf } from './auc.ts'

/** What a report is about; its parts are metrics of their own. */
export type ReportSpec =
  | { readonly kind: 'AUC' }
  | { readonly kind: 'PrecisionRecall'; readonly classNum: number }
  | { readonly kind: 'RecallK'; readonly k: number }
  | { readonly kind: 'PosNegRatio' }

/** The parts over all samples: means by name, and the histogram of predictions. */
export interface ReportParts {
  readonly samples: number
  readonly means: Readonly<Record<string, number>>
  readonly histogram?: AucHistogram | undefined
}

type Format<K extends ReportSpec['kind']> = (spec: Extract<ReportSpec, { kind: K }>, parts: ReportParts) => string

const FORMATS: { readonly [K in ReportSpec['kind']]: Format<K> } = {
  AUC: (_spec, parts) => aucText(parts),
  PrecisionRecall: ({ classNum }, parts) => precisionRecallText(classNum, parts),
  RecallK: ({ k }, { samples, means }) => {
    const hits = Math.round((means['hit'] ?? 0) * samples)
    return `InsCnt=${samples} RecallCnt=${hits} Acc(Recall@${k})=${samples > 0 ? hits / samples : 0}`
  },
  PosNegRatio: (_spec, { samples, means }) => {
    const right = Math.round((means['right'] ?? 0) * samples)
    return `RightCnt=${right} WrongCnt=${samples - right} PN=${(right + 1) / (samples - right + 1)}`
  },
}

/** The line of a report, with PaddleRec's words (and its spelling). */
export function reportText(spec: ReportSpec, parts: ReportParts): string {
  return (FORMATS[spec.kind] as (spec: ReportSpec, parts: ReportParts) => string)(spec, parts)
}

/** Values by name; a table is a list of rows. */
export type ReportValues = Readonly<Record<string, readonly (number | readonly number[])[]>>

/** What a report shows on the way, by PaddleRec's names. `recent` is the histogram of the last batches. */
export function reportValues(spec: ReportSpec, parts: ReportParts, recent: AucHistogram | undefined): ReportValues {
  return (VALUES[spec.kind] as Values<ReportSpec['kind']>)(spec, parts, recent)
}

type Values<K extends ReportSpec['kind']> = (
  spec: Extract<ReportSpec, { kind: K }>,
  parts: ReportParts,
  recent: AucHistogram | undefined,
) => ReportValues

const VALUES: { readonly [K in ReportSpec['kind']]: Values<K> } = {
  AUC: (_spec, { histogram }, recent) => ({
    AUC: [histogram ? aucOf(histogram) : 0],
    BATCH_AUC: [recent ? aucOf(recent) : 0],
  }),
  PrecisionRecall: ({ classNum }, parts) => {
    const counts = classCounts(classNum, parts)
    const table = counts.map(({ tp, fp, tn, fn }) => [tp, fp, tn, fn])
    return { precision_recall_f1: precisionRecallF1(counts), '[TP FP TN FN]': table }
  },
  RecallK: ({ k }, { samples, means }) => {
    const hits = Math.round((means['hit'] ?? 0) * samples)
    return { InsCnt: [samples], RecallCnt: [hits], [`Acc(Recall@${k})`]: [samples > 0 ? hits / samples : 0] }
  },
  PosNegRatio: (_spec, { samples, means }) => {
    const right = Math.round((means['right'] ?? 0) * samples)
    return { WrongCnt: [samples - right], RightCnt: [right], PN: [(right + 1) / (samples - right + 1)] }
  },
}

/** Parts: abserr, sqrerr, prob, q and label as means, and the histogram of predictions. */
function aucText({ samples, means, histogram }: ReportParts): string {
  const of = (part: string) => (samples > 0 ? (means[part] ?? 0) : 0)
  const [actual, predicted] = [of('label'), of('prob')]
  const values = {
    AUC: samples > 0 && histogram ? aucOf(histogram) : 0,
    BUCKET_ERROR: histogram ? bucketError(histogram) : 0,
    MAE: of('abserr'),
    RMSE: Math.sqrt(of('sqrerr')),
    Actural_CTR: actual,
    Predicted_CTR: predicted,
    COPC: predicted > 1e-6 ? actual / predicted : 0,
    'MEAN Q_VALUE': of('q'),
  }
  const texts = Object.entries(values).map(([name, value]) => `${name}=${value.toFixed(6)}`)
  return `${texts.join(' ')} Ins number=${samples}`
}

const MAX_SPAN = 0.01
const RELATIVE_ERROR_BOUND = 0.05

/** How far clicks are from predictions, over stretches of the scale with enough samples to judge by; weighted by their samples. */
export function bucketError(histogram: AucHistogram): number {
  const buckets = histogram.length / 2
  let [start, shows, predicted, clicks] = [Number.NEGATIVE_INFINITY, 0, 0, 0]
  let [error, counted] = [0, 0]
  for (let i = 0; i < buckets; i++) {
    const score = i / buckets
    if (score - start > MAX_SPAN) [start, shows, predicted, clicks] = [score, 0, 0, 0]
    const here = histogram[i]! + histogram[buckets + i]!
    shows += here
    predicted += score * here
    clicks += histogram[i]!
    const rate = predicted / shows
    // Not a number and 0 alike: nothing to compare with yet.
    if (!(rate > 0) || Math.sqrt((1 - rate) / (rate * shows)) >= RELATIVE_ERROR_BOUND) continue
    error += Math.abs(clicks / shows / rate - 1) * shows
    counted += shows
    start = Number.NEGATIVE_INFINITY
  }
  return counted > 0 ? error / counted : 0
}

function precisionRecallText(classNum: number, parts: ReportParts): string {
  const counts = classCounts(classNum, parts)
  const table = counts.map(({ tp, fp, tn, fn }) => `[${tp} ${fp} ${tn} ${fn}]`).join(' ')
  const values = precisionRecallF1(counts).map((value) => value.toFixed(6))
  return `total metrics: [TP, FP, TN, FN]=[${table}]; precision_recall_f1=[${values.join(' ')}]`
}

/** Parts of class c: `tp<c>`, `predicted<c>` and `actual<c>`, as shares of all samples. */
function classCounts(classNum: number, { samples, means }: ReportParts) {
  return Array.from({ length: classNum }, (_, c) => {
    const count = (part: string) => Math.round((means[`${part}${c}`] ?? 0) * samples)
    const tp = count('tp')
    const [fp, fn] = [count('predicted') - tp, count('actual') - tp]
    return { tp, fp, tn: samples - tp - fp - fn, fn }
  })
}

export interface ClassCounts {
  readonly tp: number
  readonly fp: number
  readonly fn: number
}

/** Macro precision, recall and F1, then micro; F1 is that of the two before it. */
export function precisionRecallF1(counts: readonly ClassCounts[]): readonly number[] {
  const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const total = (part: keyof ClassCounts) => counts.reduce((sum, count) => sum + count[part], 0)
  const all = { tp: total('tp'), fp: total('fp'), fn: total('fn') }
  const [precision, recall] = [average(counts.map(precisionOf)), average(counts.map(recallOf))]
  return [...withF1(precision, recall), ...withF1(precisionOf(all), recallOf(all))]
}

const precisionOf = ({ tp, fp }: ClassCounts) => (tp + fp > 0 ? tp / (tp + fp) : 1)
const recallOf = ({ tp, fn }: ClassCounts) => (tp + fn > 0 ? tp / (tp + fn) : 1)
const withF1 = (p: number, r: number) => [p, r, p + r > 0 ? (2 * p * r) / (p + r) : 0]
