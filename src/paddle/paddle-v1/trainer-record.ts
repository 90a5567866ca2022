/** @file What the run folder of a trainer is told of it: its options, its configuration as it is written, and which trainer of the job it is. */
import { readFileSync } from 'node:fs'
import { programConfig } from '../../base/config/index.ts'
import type { Env } from '../../base/env/index.ts'
import type { RecordOptions } from '../../base/runs/index.ts'
import type { TypedTrainerOptions } from './option-table.ts'
import { fillTrainerOptions, isLocal } from './options.ts'
import { locate } from './run-config.ts'
import { jobEnv } from './set-up.ts'

/** Undefined: it keeps no model, or does something else than train. */
export function trainerRecord(
  typed: TypedTrainerOptions,
  env: Env,
): Pick<RecordOptions, 'config' | 'part' | 'env'> | undefined {
  const { job, save_dir, config: path, trainer_id: rank } = fillTrainerOptions(typed)
  if (job !== 'train' || save_dir === '') return undefined
  const file = locate(path)
  const own = jobEnv(env)
  return {
    config: {
      config: programConfig({ model_save_path: save_dir }, process.cwd()),
      source: { file, text: readFileSync(file, 'utf8'), overrides: [] },
      settings: { ...typed },
    },
    env: own,
    part: isLocal(typed)
      ? { role: 'local', rank: 0, jobId: undefined }
      : { role: 'worker', rank, jobId: own['OARFISH_JOB_ID'] },
  }
}
