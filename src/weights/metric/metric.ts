/** @file What a model asks to be measured, as plain data; values are named fetches of its program. */
import type { ReportSpec } from './report.ts'

export type MetricSpec = (
  | /** Area under the ROC curve of `prediction` (last column when it has several) against `label` (> 0 is positive). */
  { readonly kind: 'auc'; readonly name: string; readonly prediction: string; readonly label: string }
  /** Mean over samples of a scalar that is already a batch mean. */
  | { readonly kind: 'mean'; readonly name: string; readonly value: string }
) & {
  /** Set on the parts of a report. */
  readonly report?: { readonly name: string; readonly part: string; readonly spec: ReportSpec } | undefined
}
