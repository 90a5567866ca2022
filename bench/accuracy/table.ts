/** @file The accuracy table: differences to one process on the same samples, paired by seed, with the bound that they stay under. */
import { markdown } from '../markdown.ts'
import type { Quality } from './measure.ts'

export interface Line {
  readonly name: string
  /** By seed: this run and that of one process. */
  readonly pairs: readonly (readonly [run: Quality, one: Quality])[]
}

export interface Bound {
  readonly mean: number
  /** The mean is below it with 95 % confidence (Student's t, one side); NaN with one seed. */
  readonly upper: number
}

export interface Difference {
  /** AUC lost. */
  readonly auc: Bound
  /** Log loss gained, relative. */
  readonly logLoss: Bound
  /** How much farther from 1 than one process. */
  readonly copc: Bound
}

export function difference({ pairs }: Line): Difference {
  const of = (value: (run: Quality, one: Quality) => number) => bound(pairs.map(([run, one]) => value(run, one)))
  return {
    auc: of((run, one) => one.auc - run.auc),
    logLoss: of((run, one) => run.logLoss / one.logLoss - 1),
    copc: of((run, one) => Math.abs(run.copc / one.copc - 1)),
  }
}

export function table(lines: readonly Line[]): string {
  const percent = (value: number) => `${(100 * value).toFixed(2)} %`
  const shown = ({ mean, upper }: Bound, text: (value: number) => string) =>
    Number.isNaN(upper) ? text(mean) : `${text(mean)} (${text(upper)})`
  return markdown(
    ['', 'AUC', 'AUC lost (95 % bound)', 'log loss more', 'COPC off by', 'seeds'],
    lines.map((line) => {
      const { auc, logLoss, copc } = difference(line)
      const mean = line.pairs.reduce((sum, [run]) => sum + run.auc, 0) / line.pairs.length
      const digits = (value: number) => value.toFixed(4)
      return [
        line.name,
        digits(mean),
        shown(auc, digits),
        shown(logLoss, percent),
        shown(copc, percent),
        String(line.pairs.length),
      ]
    }),
  )
}

/** 95 % quantiles of Student's t by degrees of freedom, from 1. */
const STUDENT = [6.314, 2.92, 2.353, 2.132, 2.015, 1.943, 1.895, 1.86, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753]

function bound(values: readonly number[]): Bound {
  const n = values.length
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  if (n < 2) return { mean, upper: Number.NaN }
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)
  return { mean, upper: mean + (STUDENT[n - 2] ?? 1.7) * Math.sqrt(variance / n) }
}
