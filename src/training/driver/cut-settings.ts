/** @file What a cut inside an epoch was made under: a run that would go on otherwise is refused, with the keys that differ. */
import { explain, type JobConfig } from '../../base/config/index.ts'
import type { Manifest } from '../../weights/snapshot/index.ts'

/** These decide what the next batch is and what a step makes of it. How many threads, what is printed and kept, and where, may change. */
const DECIDING =
  /^(hyper_parameters|table_parameters|runner\.custom)\b|^runner\.(train_batch_size|seed|reader_type|pipe_command|\w*shuffle\w*|split_file_list|sync_mode|fleet_mode|geo_\w+|scale_lr|thread_mode)$/

export function cutSettings(config: JobConfig): NonNullable<Manifest['settings']> {
  return Object.fromEntries(Object.entries(explain(config)).filter(([key]) => DECIDING.test(key)))
}

/** One sentence a key; none: it goes on as it was. */
export function settingDifferences(config: JobConfig, { settings }: Manifest): string[] {
  if (!settings) return []
  // As JSON has them, which is how they were kept.
  const here = JSON.parse(JSON.stringify(cutSettings(config))) as NonNullable<Manifest['settings']>
  const text = (value: unknown) => (value === undefined ? 'its default' : JSON.stringify(value))
  return [...new Set([...Object.keys(here), ...Object.keys(settings)])]
    .filter((key) => JSON.stringify(here[key]) !== JSON.stringify(settings[key]))
    .map((key) => `${key}: ${text(here[key])} here, ${text(settings[key])} in the cut`)
}
