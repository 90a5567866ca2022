/** @file `runner.slices`: AUC by the value of a slot, beside the model's own metrics. */
import { configErrorAt, type LoadedConfig } from '../base/config/index.ts'
import { suggest } from '../base/util/index.ts'
import { GROUP_ENTRIES, type MetricSpec } from '../weights/metric/index.ts'
import type { TracedModel } from './trace.ts'

/** The model, which also measures each of its areas by slot. */
export function withSlices(model: TracedModel, loaded: LoadedConfig): TracedModel {
  const { slices } = loaded.config.runner
  if (slices.length === 0) return model
  const areas = model.metrics.filter((spec) => spec.kind === 'auc' && !spec.report)
  if (areas.length === 0)
    throw configErrorAt(
      loaded,
      'runner.slices',
      'the model has no AUC to show by slot: metrics: { auc: metric.auc(predict, click) }',
    )
  for (const name of slices) checkSlot(name, model, loaded)
  const sliced = slices.flatMap((slot) =>
    areas.map((spec): MetricSpec => {
      const { prediction, label, weight } = spec as Extract<MetricSpec, { kind: 'auc' }>
      const by = { kind: 'slot' as const, name: slot }
      const name = `${spec.name} by ${slot}`
      return { kind: 'grouped', name, prediction, label, weight, by, entries: GROUP_ENTRIES, each: true }
    }),
  )
  return { ...model, metrics: [...model.metrics, ...sliced] }
}

/** Signs are at hand in every step; of other slots those that the net reads, as whole numbers. */
function checkSlot(name: string, { slots, infer, train, dygraph }: TracedModel, loaded: LoadedConfig): void {
  const slot = slots.find((own) => own.name === name)
  const names = slots.map((own) => own.name)
  const guess = suggest(name, names)
  if (!slot) {
    const known = guess ? `did you mean ${guess}?` : `slots: ${names.join(', ')}`
    throw configErrorAt(loaded, 'runner.slices', `the model declares no slot "${name}"; ${known}`)
  }
  if (slot.kind === 'sparse') return
  const isWhole = slot.dtype === 'int64' && slot.width === 1
  const isRead = [train, infer].every(({ feeds }) => feeds.some((feed) => feed.name === name))
  if (!isWhole || !isRead || dygraph)
    throw configErrorAt(
      loaded,
      'runner.slices',
      `"${name}" is a dense slot that is no whole number of its own; declare it as sparse('${name}')`,
    )
}
