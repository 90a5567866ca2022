/** @file Metrics that are more than a number, and areas over the last batches, as fields of events. */
import {
  type AucHistogram,
  aucOf,
  differenceAuc,
  emptyAuc,
  type MetricSpec,
  type ReportParts,
  type ReportValues,
  reportText,
  reportValues,
} from '../metric/index.ts'
import type { MeterState } from '../snapshot/index.ts'

type Histograms = Readonly<Record<string, AucHistogram>>

/** The field `reports`: what reports have to say, by name. */
export function reportFields(specs: readonly MetricSpec[], state: MeterState) {
  const found = reportsOf(specs, state)
  if (found.length === 0) return {}
  return { reports: Object.fromEntries(found.map(({ name, spec, parts }) => [name, reportText(spec, parts)])) }
}

/** The field `shown`: parts of reports, and areas over the batches since `before`, by PaddleRec 1.x's names. */
export function shownFields(specs: readonly MetricSpec[], state: MeterState, before: Histograms) {
  const recent = (key: string) => {
    const histogram = state.histograms[key]
    return histogram && differenceAuc(histogram, before[key])
  }
  const areas = specs
    .filter(({ kind, report }) => kind === 'auc' && !report)
    .map(({ name }) => [`BATCH_${name.replace(/^auc/i, 'AUC')}`, [aucOf(recent(name) ?? emptyAuc())]] as const)
  const values = reportsOf(specs, state).flatMap(({ spec, parts, keys }) =>
    Object.entries(
      reportValues(
        spec,
        parts,
        keys.map(recent).find((found) => found !== undefined),
      ),
    ),
  )
  const shown: ReportValues = Object.fromEntries([...areas, ...values])
  return Object.keys(shown).length > 0 ? { shown } : {}
}

/** Each report with its parts over all samples; `keys` are their names as metrics. */
function reportsOf(specs: readonly MetricSpec[], { samples, sums, histograms }: MeterState) {
  const all = specs.flatMap(({ report }) => (report ? [report] : []))
  return [...new Set(all.map(({ name }) => name))].map((name) => {
    const own = all.filter((part) => part.name === name)
    const fetched = own.map(({ part }) => [part, `${name}.${part}`] as const)
    const means = fetched.flatMap(([part, key]) => (key in sums ? [[part, sums[key]! / Math.max(1, samples)]] : []))
    const keys = fetched.map(([, key]) => key)
    const histogram = keys.map((key) => histograms[key]).find((found) => found !== undefined)
    const parts: ReportParts = { samples, means: Object.fromEntries(means), histogram }
    return { name, spec: own[0]!.spec, parts, keys }
  })
}
