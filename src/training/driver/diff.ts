/** @file The same raw records scored twice: by the trainer's reader and tables, and by the server's parser and an export. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobConfig, LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import { batchColumns, listDataFiles, openReader, readLines, readRawRecords, type Slot } from '../../data/index.ts'
import { openExport, planExport, Scorer, scoresOf, trainerOutputs } from '../../inference/export/index.ts'
import { createRequestParser } from '../../inference/serve/index.ts'
import { loadModel } from '../../model/index.ts'
import { loadSnapshot, openSnapshot } from '../../weights/snapshot/index.ts'
import { createParams, findDataFiles, inputOf } from '../threads/index.ts'
import { optimizersOf } from './checkpoint.ts'

export interface DiffOptions {
  readonly config: LoadedConfig
  /** The export. */
  readonly model: string
  /** Or a folder, whose first file it is. @default the first file of test_data_dir, else of train_data_dir */
  readonly file?: string | undefined
  /** Records at most. */
  readonly rows: number
  readonly emit: EventSink
}

export interface DiffResult {
  readonly file: string
  readonly rows: number
  readonly epoch: number
  /** Of the scores of one record. */
  readonly largest: number
  /** The record with it, from 1. */
  readonly at: number
  readonly trained: number
  readonly served: number
}

export async function diff(options: DiffOptions): Promise<DiffResult> {
  const { config: loaded, rows, emit } = options
  const { config } = loaded
  const scorer = await Scorer.open(await openExport(options.model))
  try {
    const { manifest } = scorer
    const model = await loadModel(loaded)
    const files = options.file === undefined ? await findDataFiles(config, ['infer', 'train']) : undefined
    const file = files ? (files.infer ?? files.train)![0]! : await firstFile(options.file!)
    const input = inputOf(config, 'infer', [file])
    const { slots } = model
    const reader = openReader({
      ...input.reader,
      slots,
      threads: 1,
      files: [file],
      format: input.format,
      batchSize: rows,
      epoch: 0,
    })
    let columns: ReturnType<typeof batchColumns> | undefined
    for await (const batch of reader) {
      columns = batchColumns(slots, batch)
      break
    }
    if (!columns) throw new UserError('There are no records to compare.', { code: 'DATA_EMPTY', where: { file } })

    // As in training: its reader, its features, its tables.
    const folder = join(config.runner.model_save_path, String(manifest.epoch))
    const snapshot = await openSnapshot(folder, 'runner.model_save_path')
    const params = createParams(config, model, optimizersOf(snapshot.manifest), 1)
    await loadSnapshot({ snapshot, params, emit })
    const plan = planExport(model, { fetches: manifest.outputs.map(({ name }) => name) })
    const trained = scoresOf(manifest, await trainerOutputs(params, plan, columns), columns.samples)

    // As a client would ask: raw records, the export's features and tables.
    const request = await rawRequest(config, slots, file, columns.samples)
    const parsed = createRequestParser(manifest.slots, true)(request)
    if (parsed.columns.samples !== columns.samples)
      throw new Error(`internal: ${parsed.columns.samples} records in place of ${columns.samples}`)
    const { scores: served } = await scorer.score(parsed.columns)
    let at = 0
    for (let i = 1; i < trained.length; i++)
      if (Math.abs(trained[i]! - served[i]!) > Math.abs(trained[at]! - served[at]!)) at = i
    const largest = Math.abs(trained[at]! - served[at]!)
    return {
      file,
      rows: columns.samples,
      epoch: manifest.epoch,
      largest,
      at: at + 1,
      trained: trained[at]!,
      served: served[at]!,
    }
  } finally {
    await scorer.close()
  }
}

/** Of a folder; what else there may be is opened as it is. */
async function firstFile(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return isFolder ? (await listDataFiles(path, 'the records'))[0]! : path
}

/** The first records of a file as a client has them: text as text, others as JSON by field. */
async function rawRequest(config: JobConfig, slots: readonly Slot[], file: string, rows: number) {
  const { reader, isText } = inputOf(config, 'infer', [file])
  if (!isText) {
    const records = await readRawRecords({ ...reader, slots, file, rows })
    return { kind: 'json', body: Buffer.from(JSON.stringify(records, asText)), answer: 'json' } as const
  }
  const lines: string[] = []
  for await (const line of readLines(file)) if (lines.push(line) === rows) break
  return { kind: 'text', body: Buffer.from(lines.join('\n')), answer: 'json' } as const
}

/** What JSON lacks: whole numbers of 64 bits, typed arrays. */
const asText = (_: string, value: unknown) =>
  typeof value === 'bigint' ? String(value) : ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value
