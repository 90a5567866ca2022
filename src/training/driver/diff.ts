/** @file The same raw records scored twice: by the trainer's reader and tables, and by the server's parser and an export. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadedConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { importUserModule, UserError } from '../../base/util/index.ts'
import { baseSlots, batchColumns, openReader, type RecDatasetClass, rawName } from '../../data/index.ts'
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
  /** @default the first file of test_data_dir, else of train_data_dir */
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
    const file = options.file ?? (files!.infer ?? files!.train)![0]!
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
    const request = await rawRequest(loaded, file, columns.samples)
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

/** The first records of a file as they are: text as text, others as JSON by field. */
async function rawRequest(loaded: LoadedConfig, file: string, rows: number) {
  const { reader, isText } = inputOf(loaded.config, 'infer', [file])
  if (isText) {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
    return { kind: 'text', body: Buffer.from(lines.slice(0, rows).join('\n')), answer: 'json' } as const
  }
  const records = reader.userReader
    ? await userRecords(reader.userReader.path, reader.userReader.config, file, rows)
    : reader.table === 'csv'
      ? await csvRecords(loaded, file, rows)
      : undefined
  if (!records)
    throw new UserError('Records of this file cannot be had as they are.', {
      code: 'CLI_OPTION',
      where: { file },
      hint: 'Give slot text, CSV, or data of a reader.ts; not Parquet, a pipe_command or a Python reader.',
    })
  return { kind: 'json', body: Buffer.from(JSON.stringify(records, asText)), answer: 'json' } as const
}

const asText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

async function userRecords(path: string, config: unknown, file: string, rows: number): Promise<unknown[]> {
  const { RecDataset } = await importUserModule<{ RecDataset: RecDatasetClass }>(path)
  const records: unknown[] = []
  for await (const record of new RecDataset([file], config)) {
    if (records.length === rows) break
    records.push(record)
  }
  return records
}

/** Plain cells: a quote or another delimiter needs a reader of its own. */
async function csvRecords(loaded: LoadedConfig, file: string, rows: number): Promise<unknown[]> {
  const { csv_delimiter = file.endsWith('.tsv') ? '\t' : ',', csv_header, columns } = loaded.config.runner
  const lines = readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
  const names = (csv_header ? lines.shift()! : '').split(csv_delimiter).map((name) => name.trim())
  const { slots } = await loadModel(loaded)
  return lines.slice(0, rows).map((line) => {
    const cells = line.split(csv_delimiter)
    const cell = (column: string) => cells[csv_header ? names.indexOf(column) : Number(column) - 1] ?? ''
    const fields = baseSlots(slots).map((slot) => {
      const own = columns[slot.name] ?? rawName(slot)
      const spec = typeof own === 'string' || Array.isArray(own) ? { from: own } : own
      const { from = rawName(slot), split } = spec as { from?: string | string[]; split?: string }
      const values = [from].flat().flatMap((column) => (split ? cell(column).split(split) : [cell(column)]))
      return [
        rawName(slot),
        values.map((value) => (value !== '' && slot.kind === 'dense' ? Number(value) : value)),
      ] as const
    })
    return Object.fromEntries(fields.filter(([, values]) => values.some((value) => value !== '')))
  })
}
