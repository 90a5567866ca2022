/** @file Data that a model could not be trained on is refused before anything is compiled. */
import type { LoadedConfig } from '../config/index.ts'
import { checkAgreement, type TracedModel } from '../model/index.ts'
import { inputOf } from './input.ts'
import type { Phase } from './messages.ts'
import type { DataFiles } from './runtime.ts'

/** Compares the model's slots with the data of each phase that is read as text; other readers give what they declare. */
export async function checkData(
  loaded: LoadedConfig,
  { slots, dygraph }: TracedModel,
  files: DataFiles,
): Promise<void> {
  for (const [phase, list] of Object.entries(files) as [Phase, readonly string[]][]) {
    if (inputOf(loaded.config, phase, list).isText)
      await checkAgreement(loaded, slots, list, dygraph ? 'dygraph' : 'static')
  }
}
