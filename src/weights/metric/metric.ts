/** @file What a model asks to be measured, as plain data; values are named fetches of its program. */
import type { ReportSpec } from './report.ts'

/** A prediction (last column when it has several) against a label (> 0 is positive); samples may weigh differently. */
interface Scored {
  readonly name: string
  readonly prediction: string
  readonly label: string
  readonly weight?: string | undefined
}

export type MetricSpec = (
  | /** Area under the ROC curve. */
  ({ readonly kind: 'auc' } & Scored)
  /** Mean over samples of a scalar that is already a batch mean. */
  | { readonly kind: 'mean'; readonly name: string; readonly value: string }
  /** One sum over all samples by another; both values are batch means. */
  | { readonly kind: 'ratio'; readonly name: string; readonly above: string; readonly below: string }
  | ({ readonly kind: 'grouped' } & Scored & GroupedSpec)
) & {
  /** Set on the parts of a report. */
  readonly report?: { readonly name: string; readonly part: string; readonly spec: ReportSpec } | undefined
}

/** AUC within groups: the mean over them, or each by itself. */
export interface GroupedSpec {
  /** The group of a sample: its first sign of a sparse slot, or the whole number of a fetch or a dense slot. */
  readonly by: { readonly kind: 'slot' | 'fetch'; readonly name: string }
  /** See GROUP_ENTRIES. */
  readonly entries: number
  readonly each: boolean
}

/** The sums that a ratio is made of. */
export const ratioSums = (name: string) => [`${name}${ABOVE}`, `${name}${BELOW}`] as const

const ABOVE = ':above'
const BELOW = ':below'

/** Sums over samples as what they mean: means, and ratios of two. A ratio by nothing is not a number. */
export function sumsAsMetrics(
  sums: Readonly<Record<string, number>>,
  samples: number,
): [name: string, value: number][] {
  return Object.entries(sums).flatMap(([key, sum]): [string, number][] => {
    if (key.endsWith(BELOW)) return []
    if (!key.endsWith(ABOVE)) return [[key, sum / Math.max(1, samples)]]
    const name = key.slice(0, -ABOVE.length)
    const below = sums[`${name}${BELOW}`] ?? 0
    return [[name, below === 0 ? Number.NaN : sum / below]]
  })
}
