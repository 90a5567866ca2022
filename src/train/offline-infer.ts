/** @file The offline evaluation of PaddleRec's static_ps_offline_infer: one saved model, by keys of its own. */
import { configErrorAt, type LoadedConfig } from '../config/index.ts'
import { isPaddleFolder } from '../params/index.ts'
import { openSnapshot } from '../snapshot/index.ts'
import type { FindModels } from './infer.ts'

/** The configuration of an evaluation of `init_model_path` over `data_dir`, and how its model is found. */
export function offlineInfer(loaded: LoadedConfig): { readonly config: LoadedConfig; readonly models: FindModels } {
  const { runner } = loaded.config
  const { init_model_path, data_dir = runner.test_data_dir, batch_size = runner.infer_batch_size } = runner
  if (init_model_path === undefined)
    throw configErrorAt(loaded, 'runner.init_model_path', 'missing; it is the saved model that is evaluated')
  if (data_dir === undefined)
    throw configErrorAt(loaded, 'runner.data_dir', 'missing; it is the folder of the data that is evaluated')
  const own = { ...runner, test_data_dir: data_dir, infer_batch_size: batch_size, infer_load_path: init_model_path }
  const key = 'runner.init_model_path'
  return {
    config: { ...loaded, config: { ...loaded.config, runner: own } },
    models: async () => {
      if (await isPaddleFolder(init_model_path)) return [{ epoch: 0, folder: init_model_path, key }]
      const { manifest } = await openSnapshot(init_model_path, key)
      return [{ epoch: Math.max(0, manifest.position.epoch - 1), folder: init_model_path, key }]
    },
  }
}
