/** @file A small trained model with its export, for tests of whatever reads exports. */
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/base/config/index.ts'
import type { ModelInput } from '../../src/graph/engine/index.ts'
import type { ExportManifest, Instance } from '../../src/inference/export/index.ts'
import { exportCheckpoint } from '../../src/training/driver/index.ts'
import { type TinyRun, tinyFolder, trainTiny } from '../train/tiny.testing.ts'

export interface Exported {
  /** Holds config.yaml, data/ and the checkpoints in model_output/. */
  readonly folder: string
  /** The export of the last epoch, folded too. */
  readonly out: string
  readonly run: TinyRun
}

const MODELS = { tiny: '../train/tiny.model.ts', inits: './inits.model.ts' }

/** Trains and exports; `inits` is the model of inits.model.ts. */
export async function exported(model: keyof typeof MODELS, overrides: readonly string[] = []): Promise<Exported> {
  const folder = await tinyFolder()
  await copyFile(fileURLToPath(new URL(MODELS[model], import.meta.url)), join(folder, 'static_model.ts'))
  const config = join(folder, 'config.yaml')
  if (model === 'inits') await writeFile(config, (await readFile(config, 'utf8')).replace('  dim: 3', '  {}'))
  const run = await trainTiny(folder, overrides)
  const out = join(folder, 'exported')
  await exportTo(folder, out, { overrides, fold: true })
  return { folder, out, run }
}

export async function exportTo(
  folder: string,
  out: string,
  { overrides = [], ...options }: { overrides?: readonly string[]; fold?: boolean; epoch?: number } = {},
) {
  const config = loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
  return exportCheckpoint({ config, out, emit: () => {}, ...options })
}

/** The lines of the test data. */
export async function testLines(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'data', 'test', 'part-0'), 'utf8')
  return text.trimEnd().split('\n')
}

/** The inputs of a folded model: ids padded to the longest of their slot. */
export function foldedInputs({ folded }: ExportManifest, instances: readonly Instance[]) {
  const entries = folded!.inputs.map(({ name, slot, what, shape }): [string, ModelInput] => {
    const lists = instances.map((instance) => instance[slot]!.map(String))
    const samples = lists.length
    if (what === 'values')
      return [
        name,
        { dtype: 'float32', dims: [samples, Number(shape[1])], data: Float32Array.from(lists.flat(), Number) },
      ]
    if (what === 'counts')
      return [name, { dtype: 'int64', dims: [samples], data: BigInt64Array.from(lists, (list) => BigInt(list.length)) }]
    const longest = Math.max(...lists.map((list) => list.length))
    const data = new BigInt64Array(samples * longest)
    for (const [i, list] of lists.entries())
      for (const [k, id] of list.entries()) data[i * longest + k] = BigInt.asIntN(64, BigInt(id))
    return [name, { dtype: 'int64', dims: [samples, longest], data }]
  })
  return Object.fromEntries(entries)
}
