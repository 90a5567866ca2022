/** @file How a phase reads its data: from reader_type, pipe_command, reader paths and data_format to the settings of a reader. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JobConfig } from '../config/index.ts'
import { type InputKind, pipeCommand, type ReaderPoolOptions, type ReadOptions } from '../data/index.ts'
import type { Phase } from './messages.ts'

export interface Input {
  readonly reader: Omit<ReaderPoolOptions, 'slots' | 'threads'>
  readonly format: NonNullable<ReadOptions['format']>
  /** Whether it is loaded once and kept. */
  readonly inMemory: boolean
  /** Text that is read as it lies in the files. */
  readonly isText: boolean
}

export function inputOf(config: JobConfig, phase: Phase, files: readonly string[]): Input {
  const { runner, hyper_parameters, dataset } = config
  const type = phase === 'train' ? runner.reader_type : runner.infer_reader_type
  const inMemory = type === 'InmemoryDataset'
  const piped = (inMemory || type === 'QueueDataset') && runner.pipe_command !== undefined
  const named = phase === 'train' ? runner.train_reader_path : runner.infer_reader_path
  const path = type === 'CustomizeDataLoader' ? modelFile(config.dir) : named
  const own = !inMemory && type !== 'QueueDataset' && path !== undefined && existsSync(path)
  const table = piped || own ? undefined : tableOf(runner.data_format, files)
  const { data_format, on_bad_line, parse_ins_id, parse_content } = runner
  return {
    inMemory,
    isText: !piped && !own && !table,
    format: data_format === 'csv' || data_format === 'parquet' ? 'auto' : data_format,
    reader: {
      onBadLine: on_bad_line,
      leadingFields: Number(parse_ins_id) + Number(parse_content),
      ...(dataset && { padding: dataset.padding }),
      ...(own && {
        userReader: { path, ...(dataset && { className: dataset.readerClass }), config: { runner, hyper_parameters } },
      }),
      ...(piped && { pipe: pipeOf(config) }),
      ...(table && { table, columns: columnsOf(config) }),
    },
  }
}

/** How its files are read. */
export function inputKind({ reader: { userReader, pipe, table } }: Input): InputKind {
  return userReader ? 'user' : pipe ? 'pipe' : (table ?? 'text')
}

/** CustomizeDataLoader is a reader in the model's own file. */
function modelFile(dir: string): string | undefined {
  return MODEL_FILES.map((name) => join(dir, name)).find((path) => existsSync(path))
}

const MODEL_FILES = ['static_model.ts', 'static_model.js', 'static_model.mjs', 'model.ts', 'dygraph_model.ts']

function pipeOf({ runner, path, dir }: JobConfig) {
  return pipeCommand({ command: runner.pipe_command!, yaml: path, dir, cwd: process.cwd() })
}

function columnsOf({ runner }: JobConfig): NonNullable<ReaderPoolOptions['columns']> {
  const { columns, csv_header, csv_delimiter } = runner
  return { columns, header: csv_header, ...(csv_delimiter !== undefined && { delimiter: csv_delimiter }) }
}

function tableOf(format: string, files: readonly string[]): 'csv' | 'parquet' | undefined {
  if (format === 'csv' || format === 'parquet') return format
  if (format !== 'auto' || files.length === 0) return undefined
  if (files.every((file) => file.endsWith('.parquet'))) return 'parquet'
  return files.every((file) => /\.(csv|tsv)(\.gz)?$/.test(file)) ? 'csv' : undefined
}
