/** @file Data that a model could not be trained on is refused before anything is compiled. */
import { existsSync } from 'node:fs'
import type { LoadedConfig } from '../config/index.ts'
import { checkAgreement, type TracedModel } from '../model/index.ts'
import type { Phase } from './messages.ts'
import type { DataFiles } from './runtime.ts'

/** Compares the model's slots with the data of each phase that is read as text; other readers give what they declare. */
export async function checkData(loaded: LoadedConfig, { slots }: TracedModel, files: DataFiles): Promise<void> {
  const { train_reader_path, infer_reader_path, pipe_command } = loaded.config.runner
  const readers: Readonly<Record<Phase, string | undefined>> = { train: train_reader_path, infer: infer_reader_path }
  for (const [phase, list] of Object.entries(files) as [Phase, readonly string[]][]) {
    const reader = readers[phase]
    const ownReader = pipe_command !== undefined || (reader !== undefined && existsSync(reader))
    if (!ownReader) await checkAgreement(loaded, slots, list)
  }
}
