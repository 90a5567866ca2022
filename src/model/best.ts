/** @file `runner.keep_best` and `runner.early_stop` name metrics that the model has, and there is data to measure them on. */
import { configErrorAt, type LoadedConfig } from '../base/config/index.ts'
import { suggest } from '../base/util/index.ts'
import type { TracedModel } from './trace.ts'

export function checkBest({ metrics }: TracedModel, loaded: LoadedConfig): void {
  const { keep_best, early_stop, test_data_dir, model_save_path } = loaded.config.runner
  const names = ['loss', ...metrics.filter(({ report }) => !report).map(({ name }) => name)]
  const wanted = { 'runner.keep_best': keep_best, 'runner.early_stop': early_stop?.metric }
  for (const [key, metric] of Object.entries(wanted)) {
    if (metric === undefined) continue
    if (test_data_dir === undefined)
      throw configErrorAt(loaded, key, `needs test data to measure ${metric} on; set runner.test_data_dir`)
    if (names.includes(metric)) continue
    const guess = suggest(metric, names)
    const known = guess ? `did you mean ${guess}?` : `it has ${names.join(', ')}`
    throw configErrorAt(loaded, key, `the model measures no "${metric}"; ${known}`)
  }
  if (keep_best !== undefined && model_save_path === '')
    throw configErrorAt(loaded, 'runner.keep_best', 'nothing is saved, since runner.model_save_path is empty')
}
