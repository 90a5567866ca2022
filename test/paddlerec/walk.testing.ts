/** @file Every yaml and every reader of a PaddleRec checkout: what each of them comes to here. The list in docs/reference/paddlerec.md is made of it. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError, type LoadedConfig, loadConfig, loadRunConfig } from '../../src/base/config/index.ts'
import { deriveSeed, formatUserError, isUserError } from '../../src/base/util/index.ts'
import { type Batch, listDataFiles, openReader, readsFileByFile, type Slot } from '../../src/data/index.ts'
import { loadModelAs } from '../../src/model/index.ts'
import { type Draft, portModel } from '../../src/paddle/port/index.ts'

export interface YamlResult {
  readonly file: string
  readonly form: '1.x' | '2.x'
  /** Undefined: it is accepted. */
  readonly refused?: string
  readonly loaded?: LoadedConfig
}

export function walkYaml(root: string): readonly YamlResult[] {
  const files = readdirSync(join(root, 'models'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => loadedYaml(root, join('models', file)))
}

function loadedYaml(root: string, file: string): YamlResult {
  const path = join(root, file)
  const text = readFileSync(path, 'utf8')
  const form = /^phase:/m.test(text) ? '1.x' : '2.x'
  try {
    if (form === '2.x') return { file, form, loaded: loadConfig({ path, cwd: root }) }
    loadRunConfig({ path, cwd: root })
    return { file, form }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { file, form, refused: error.problems.map(({ key, message }) => `${key || 'yaml'}: ${message}`).join('; ') }
  }
}

export interface ModelResult {
  readonly file: string
  readonly outcome:
    | { readonly kind: 'traced' }
    | { readonly kind: 'missing' }
    | { readonly kind: 'refused'; readonly reason: string }
}

const SHIPPED = fileURLToPath(new URL('../../models', import.meta.url))

/** Hyper-parameters against the model of that folder that ships with this package, where there is one. */
export async function walkModels(results: readonly YamlResult[]): Promise<readonly ModelResult[]> {
  const found: ModelResult[] = []
  for (const { file, loaded } of results) {
    if (!loaded) continue
    const model = join(SHIPPED, '..', dirname(file), 'model.ts')
    if (!existsSync(model)) found.push({ file, outcome: { kind: 'missing' } })
    else found.push({ file, outcome: await traced({ ...loaded, config: { ...loaded.config, model } }) })
  }
  return found
}

async function traced(loaded: LoadedConfig): Promise<ModelResult['outcome']> {
  try {
    await loadModelAs('static', loaded)
    return { kind: 'traced' }
  } catch (error) {
    if (error instanceof ConfigError)
      return { kind: 'refused', reason: error.problems.map(({ key, message }) => `${key}: ${message}`).join('; ') }
    if (!isUserError(error)) throw error
    return { kind: 'refused', reason: formatUserError(error).split('\n')[0]! }
  }
}

export interface DraftResult {
  readonly folder: string
  /** Its model: static_model.py or dygraph_model.py. */
  readonly from: string
  readonly statements: number
  readonly gaps: Draft['gaps']
}

/** Drafts of the nets of rank and multitask; that they type-check is tested in test/port. */
export async function walkNets(root: string): Promise<readonly DraftResult[]> {
  const found: DraftResult[] = []
  for (const group of ['multitask', 'rank'])
    for (const name of readdirSync(join(root, 'models', group)).sort()) {
      const folder = join('models', group, name)
      if (!existsSync(join(root, folder, 'net.py'))) continue
      const { files, statements, gaps } = await portModel({ source: join(root, folder) })
      found.push({ folder, from: basename(files.at(-1)!), statements, gaps })
    }
  return found
}

export interface ReaderResult {
  readonly reader: string
  /** Packages that it imports, beside numpy and paddle. */
  readonly imports: readonly string[]
  readonly yaml: string
  /** The stand-in for numpy was not enough. */
  readonly needsNumpy?: boolean
  readonly outcome:
    | { readonly kind: 'same'; readonly samples: number; readonly together: boolean }
    | { readonly kind: 'differs'; readonly at: string }
    /** Plain Python cannot run it either, or no model could take what it gives. */
    | { readonly kind: 'fails'; readonly reason: string }
    | { readonly kind: 'refused'; readonly reason: string }
}

const MOST = 200
/** Of whatever the reader of the first chunk draws. */
const SEED = Number(deriveSeed(0, 'reader of epoch 0, chunk 0') & 0x7fffffffn)
const SCRIPT = fileURLToPath(new URL('zoo_samples.py', import.meta.url))

/** Readers that a config names for training, each with the first such config whose sample data is in the checkout. */
export function readersOf(results: readonly YamlResult[]): readonly { readonly loaded: LoadedConfig }[] {
  const seen = new Set<string>()
  return results.flatMap(({ loaded }) => {
    const { train_reader_path: path, train_data_dir: dir } = loaded?.config.runner ?? {}
    if (!loaded || !path?.endsWith('.py') || typeof dir !== 'string' || !existsSync(dir) || seen.has(path)) return []
    if (!/class RecDataset/.test(readFileSync(path, 'utf8'))) return []
    seen.add(path)
    return [{ loaded }]
  })
}

/** What the reader gives here, with the Python of the PATH, against what it gives under `python` (a real paddle). */
export async function compareReader(root: string, loaded: LoadedConfig, python: string): Promise<ReaderResult> {
  const { runner, dir, path: yaml, written } = loaded.config
  const path = runner.train_reader_path!
  const found = {
    reader: relative(root, path),
    yaml: relative(root, yaml),
    imports: packagesIn(readFileSync(path, 'utf8')),
  }
  const config = { ...written, config_abs_dir: dir, yaml_path: yaml }
  const folder = runner.train_data_dir as string
  if (!readdirSync(folder, { withFileTypes: true }).some((entry) => entry.isFile()))
    return {
      ...found,
      outcome: { kind: 'fails', reason: 'its data lies in folders below train_data_dir, which are not read' },
    }
  const real = spawnSync(python, [SCRIPT, path, JSON.stringify(config), folder, String(MOST), String(SEED)], {
    cwd: dir,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    timeout: 300_000,
  })
  if (real.status !== 0)
    return { ...found, outcome: { kind: 'fails', reason: real.error?.message ?? lastLine(real.stderr) } }
  const expected = JSON.parse(real.stdout) as Expected
  const together = !readsFileByFile(readFileSync(path, 'utf8'))
  const slots = slotsOf(expected)
  const uneven = slots.find(
    (slot, i) => slot.kind === 'dense' && expected.some((one) => one[i]![1].length !== slot.width),
  )
  if (uneven)
    return {
      ...found,
      outcome: {
        kind: 'fails',
        reason: `field ${uneven.name} has numbers that are no ids, and as many as the longest sample of its batch`,
      },
    }
  const files = await listDataFiles(folder)
  const options = { files, slots, threads: 2, batchSize: 16, epoch: 0, onNotice: () => undefined }
  const reader = openReader({ ...options, python: { path, dir, yaml, cwd: dir, config, together } })
  const samples: unknown[] = []
  try {
    for await (const batch of reader) {
      samples.push(...plain(slots, batch))
      if (samples.length >= expected.length) break
    }
  } catch (error) {
    if (!isUserError(error)) throw error
    if (samples.length < expected.length)
      return { ...found, outcome: { kind: 'refused', reason: formatUserError(error).split('\n')[0]! } }
  }
  const wanted = expected.map((sample) => sample.map(([, values]) => values))
  const at = wanted.findIndex((sample, i) => JSON.stringify(sample) !== JSON.stringify(samples[i]))
  return at < 0
    ? { ...found, outcome: { kind: 'same', samples: wanted.length, together } }
    : {
        ...found,
        outcome: {
          kind: 'differs',
          at: `sample ${at + 1}: ${JSON.stringify([wanted[at], samples[at]]).slice(0, 600)}`,
        },
      }
}

type Expected = readonly (readonly (readonly [string, readonly number[]])[])[]

const PACKAGES = new Set(['cv2', 'h5py', 'nltk', 'pandas', 'PIL', 'scipy', 'sklearn'])

const packagesIn = (source: string): readonly string[] =>
  [...source.matchAll(/^\s*(?:import|from) (\w+)/gm)]
    .map(([, name]) => name!)
    .filter((name, i, all) => PACKAGES.has(name) && all.indexOf(name) === i)

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''

/** Slots that take what a reader gives: ids where all are whole and not negative, else dense of its width. */
function slotsOf(samples: Expected): readonly Slot[] {
  return samples[0]!.map(([dtype], field) => {
    const all = samples.map((sample) => sample[field]![1])
    const name = String(field)
    if (dtype.startsWith('float')) return { kind: 'dense', name, width: all[0]!.length, dtype: 'float32' }
    const negative = all.some((values) => values.some((value) => value < 0))
    return negative ? { kind: 'dense', name, width: all[0]!.length, dtype: 'int64' } : { kind: 'sparse', name }
  })
}

function plain(slots: readonly Slot[], { pieces }: Batch): readonly (readonly (readonly number[])[])[] {
  return pieces.flatMap(({ chunk, from, to }) =>
    Array.from({ length: to - from }, (_, i) => {
      const sample = from + i
      const sparse = slots.filter(({ kind }) => kind === 'sparse').length
      let [sign, s, d] = [chunk.starts[sample]!, 0, 0]
      return slots.map((slot) => {
        if (slot.kind === 'dense') {
          const column = chunk.dense[d++]!
          return Array.from(column.subarray(sample * slot.width, (sample + 1) * slot.width) as Float32Array, Number)
        }
        const count = chunk.counts[sample * sparse + s++]!
        sign += count
        return Array.from(chunk.signs.subarray(sign - count, sign), Number)
      })
    }),
  )
}
