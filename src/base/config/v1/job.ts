/** @file One phase of one runner as the 2.x config it corresponds to, so that one engine runs both. */

import type { LoadedConfig } from '../load.ts'
import { readerFile } from '../paths.ts'
import { deepFreeze, type JobConfig, resolveConfig } from '../resolve.ts'
import { runnerSchema } from '../schema.ts'
import { keysOf } from '../walk.ts'
import { modelFileV1, readsSlots } from './files.ts'
import { flattenRunConfig, type LoadedRunConfig } from './load.ts'
import type { DatasetV1, PhaseV1, RunnerV1 } from './resolve.ts'
import { datasetV1 } from './schema.ts'

export interface PhaseJob {
  readonly runner: RunnerV1
  readonly phase: PhaseV1
  readonly dataset: DatasetV1
  /** What the engine runs. Places are those of the 1.x yaml. */
  readonly loaded: LoadedConfig
}

/** The job of a phase; its model must be there (see checkRun). */
export function phaseJob({ config, source }: LoadedRunConfig, runner: RunnerV1, phase: PhaseV1): PhaseJob {
  const dataset = config.dataset.find(({ name }) => name === phase.dataset_name)!
  const reader = readsSlots(dataset) ? undefined : dataset.data_converter
  const keys = {
    train_data_dir: dataset.data_path,
    test_data_dir: dataset.data_path,
    train_batch_size: dataset.batch_size,
    epochs: runner.epochs,
    seed: runner.seed,
    device: runner.device,
    thread_num: phase.thread_num,
    infer_thread_num: phase.thread_num,
    print_interval: runner.print_interval,
    sync_mode: runner.distribute_strategy,
    fleet_mode: runner.fleet_mode === 'hybrid' ? 'hybrid' : 'auto',
    geo_step: config.pushNum,
    // Checkpoints of 1.x are rank 0's own: every rank has all tables whole.
    replicated_table_mb: runner.fleet_mode === 'collective' ? 1_000_000 : undefined,
    train_reader_path: '',
    infer_reader_path: '',
    model_save_path: '',
    save_inference_feed_varnames: runner.save_inference_feed_varnames,
    save_inference_fetch_varnames: runner.save_inference_fetch_varnames,
    custom: readerKeys(dataset),
  }
  const user = {
    runner: runnerSchema.parse(keys),
    hyper_parameters: config.hyper_parameters as Record<string, unknown>,
    table_parameters: {},
  }
  const job = resolveConfig({
    user,
    path: config.path,
    cwd: config.cwd,
    written: flattenRunConfig({ source }),
  })
  const file = reader === undefined ? undefined : readerFile('/', reader)
  const resolved: JobConfig = deepFreeze({
    ...job,
    workspace: config.workspace,
    runner: { ...job.runner, train_reader_path: file, infer_reader_path: file },
    model: modelFileV1(phase.model)!,
    dataset: {
      slots: dataset.slots,
      padding: dataset.padding,
      dropLast: dataset.type === 'DataLoader',
      readerClass: dataset.reader_class_name,
    },
  })
  return { runner, phase, dataset, loaded: { config: resolved, source, notices: [] } }
}

/** Keys of a dataset that are the reader's own. */
function readerKeys(dataset: DatasetV1): Record<string, unknown> {
  const known = [...keysOf(datasetV1), 'slots']
  return Object.fromEntries(Object.entries(dataset).filter(([key]) => !known.includes(key)))
}
