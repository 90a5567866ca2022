/** @file Writes an export: a folder that appears whole, checked against the trainer before it does. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { createFile, type FolderLock, isReplaceable, writeFolder } from '../../base/fs/index.ts'
import { isUserError, packageFile } from '../../base/util/index.ts'
import type { Columns, RawRecord, Sample } from '../../data/index.ts'
import type { TensorView } from '../../graph/engine/index.ts'
import { encodeModel, toOnnxModel } from '../../graph/onnx/index.ts'
import type { LocalParams } from '../../weights/params/index.ts'
import { cannotWriteExport, notReplaced, wrongSamples } from './errors.ts'
import { rawColumns } from './fields.ts'
import { foldModel } from './fold.ts'
import { type ExportManifest, type ExportTable, type FileMark, FORMAT, hexOf, MANIFEST, VERSION } from './manifest.ts'
import { readExport } from './open.ts'
import type { ExportPlan } from './plan.ts'
import { denseWeights } from './rows.ts'
import { type Instance, instancesOf, rawInstances, trainerOutputs, withUnseen } from './samples.ts'
import { outputRows, Scorer, scoresOf, shortNumber } from './scorer.ts'
import { readTableFile, writeTableFile } from './table-file.ts'
import { typesText } from './types-file.ts'

export interface WriteExportOptions {
  readonly folder: string
  readonly plan: ExportPlan
  /** No thread may train meanwhile. */
  readonly params: LocalParams
  readonly epoch: number
  readonly seed: number
  /** Some samples of the data, which are exported with their scores. */
  readonly samples: Columns
  /** The same before any feature, where the model has some: what a client sends. */
  readonly records?: readonly RawRecord[] | undefined
  /** Also writes one ONNX file that holds the tables. @default false */
  readonly fold?: boolean | undefined
  /** Of a job that writes there again and again: without it nothing takes the place of what is there. */
  readonly lock?: Pick<FolderLock, 'check'> | undefined
  /** Aborted, nothing is put in place. */
  readonly signal?: AbortSignal | undefined
}

const TOLERANCE = 1e-6

export async function writeExport(options: WriteExportOptions): Promise<ExportManifest> {
  await refuseToReplace(options.folder)
  try {
    return await writeFolder(options.folder, (aside) => fillFolder(aside, options))
  } catch (error) {
    throw isUserError(error) || !isSystemError(error) ? error : cannotWriteExport(options.folder, error)
  }
}

/** An export takes the place of its folder: what a user keeps there under another name is not to go with it. */
export async function refuseToReplace(folder: string): Promise<void> {
  let replaceable: boolean
  try {
    replaceable = await isReplaceable(folder, { format: FORMAT })
  } catch (error) {
    throw isSystemError(error) ? cannotWriteExport(folder, error) : error
  }
  if (!replaceable) throw notReplaced(folder)
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  typeof (error as NodeJS.ErrnoException).syscall === 'string'

async function fillFolder(aside: string, options: WriteExportOptions): Promise<ExportManifest> {
  const { plan, params, epoch, seed, fold = false } = options
  const files: Record<string, FileMark> = {}
  const put = async (name: string, data: Uint8Array) => {
    await writeWhole(join(aside, name), data)
    files[name] = { bytes: data.length, crc32: hexOf(crc32(data)) }
    return name
  }
  const model = toOnnxModel(plan.program, { weights: denseWeights(params) })
  const tables = await writeTables(aside, options, files)
  const folded = fold ? foldModel({ model, plan, tables, memories: await readTables(aside, tables, files) }) : undefined
  const instances = withUnseen(params, plan.slots, givenInstances(options))
  const expected = await trainerOutputs(params, plan, rawColumns(plan.slots, instances as readonly Sample[]))
  const manifest: ExportManifest = {
    format: FORMAT,
    version: VERSION,
    createdBy: packageName(),
    createdAt: new Date().toISOString(),
    epoch,
    steps: params.dense.steps,
    seed,
    model: { file: await put('model.onnx', encodeModel(model)), opset: model.opset },
    slots: [...plan.slots],
    tables,
    inputs: [...plan.inputs],
    outputs: [...plan.outputs],
    score: plan.score,
    samples: await put('samples.json', samplesFile(plan, instances, expected)),
    types: await put('model.d.ts', new TextEncoder().encode(typesText(plan))),
    folded: folded && { file: await put('folded.onnx', encodeModel(folded.model)), inputs: folded.inputs },
    files,
  }
  await writeWhole(join(aside, MANIFEST), new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`))
  await checkScores(aside, instances, expected)
  options.signal?.throwIfAborted()
  options.lock?.check()
  return manifest
}

function givenInstances({ plan: { slots }, samples, records = [] }: WriteExportOptions): readonly Instance[] {
  return slots.some(({ feature }) => feature) ? rawInstances(slots, records) : instancesOf(slots, samples)
}

async function writeTables(
  aside: string,
  { plan, params, signal }: WriteExportOptions,
  files: Record<string, FileMark>,
): Promise<ExportTable[]> {
  const tables: ExportTable[] = []
  for (const { name } of plan.program.tables) {
    signal?.throwIfAborted()
    const index = params.tables.findIndex((table) => table.name === name)
    const { layout } = params.handle.tables[index]!
    const file = `table-${tables.length}.bin`
    const { rows, ...mark } = await writeTableFile(join(aside, file), params, index)
    files[file] = mark
    const unseen = layout.init.kind === 'constant' ? layout.init : { ...layout.init, seed: String(layout.seed) }
    tables.push({ name, file, dim: layout.dim, rows, unseen })
  }
  return tables
}

/** From the files, so that a folded model and the folder say the same. */
function readTables(aside: string, tables: readonly ExportTable[], files: Readonly<Record<string, FileMark>>) {
  return Promise.all(tables.map(({ file }) => readTableFile(join(aside, file), files[file]!)))
}

function samplesFile(
  plan: ExportPlan,
  instances: readonly Instance[],
  outputs: Readonly<Record<string, TensorView>>,
): Uint8Array {
  const samples = instances.length
  const scores = scoresOf(plan, outputs, samples)
  const rows = outputRows({ samples, scores, outputs }, 0, samples)
  // One line each, so that people can read it.
  const list = (items: readonly unknown[]) => `[\n${items.map((item) => `  ${JSON.stringify(item)}`).join(',\n')}\n ]`
  const columns = Object.entries(rows).map(([name, values]) => ` ${JSON.stringify(name)}: ${list(values)}`)
  const text = `{"instances": ${list(instances)},\n "scores": ${list(Array.from(scores, shortNumber))},\n "outputs": {${columns.join(',\n')}}}\n`
  return new TextEncoder().encode(text)
}

/** Reads the folder back and scores the samples: what does not agree with the trainer is never put in place. */
async function checkScores(
  aside: string,
  instances: readonly Instance[],
  expected: Readonly<Record<string, TensorView>>,
): Promise<void> {
  const scorer = await Scorer.open(await readExport(aside))
  try {
    const { outputs } = await scorer.score(rawColumns(scorer.manifest.slots, instances as readonly Sample[]))
    for (const [name, { data }] of Object.entries(expected)) {
      for (let i = 0; i < data.length; i++) {
        const [want, got] = [Number(data[i]!), Number(outputs[name]!.data[i]!)]
        if (!(Math.abs(want - got) <= TOLERANCE * Math.max(1, Math.abs(want)))) throw wrongSamples(name, want, got)
      }
    }
  } finally {
    await scorer.close()
  }
}

async function writeWhole(path: string, data: Uint8Array): Promise<void> {
  const file = await createFile(path)
  await file.write(data).finally(file.close)
}

function packageName(): string {
  const { name, version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))
  return `${name} ${version}`
}
