/** @file The configuration of a run that a program describes by calls instead of a yaml: the same keys, the same defaults. */
import { join } from 'node:path'
import { type JobConfig, resolveConfig } from './resolve.ts'
import { type RunnerKeys, userConfigSchema } from './schema.ts'

/** `runner` holds what differs from the defaults; paths are relative to `dir`. */
export function programConfig(runner: Partial<RunnerKeys>, dir: string): JobConfig {
  const required = { train_data_dir: '.', train_batch_size: 1, model_save_path: '' }
  const user = userConfigSchema.parse({ runner: { ...required, ...runner } })
  return resolveConfig({ user, path: join(dir, 'program'), cwd: dir })
}
