/** @file The data of a job: its files, how a phase reads them (reader_type, pipe_command, reader paths, data_format), readers for all phases. */
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type JobConfig, type LoadedConfig, MODEL_FILES } from '../../base/config/index.ts'
import { setFileAccess } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'
import {
  type Exchange,
  type InputKind,
  listDataFiles,
  namedAsData,
  openMemoryPool,
  openReaderPool,
  pipeCommand,
  type ReaderPool,
  type ReaderPoolOptions,
  type ReadOptions,
  inputKind as readerKind,
  readHead,
  readsFileByFile,
  releaseBatch,
  type Slot,
} from '../../data/index.ts'
import { checkAgreement, type TracedModel } from '../../model/index.ts'
import type { Phase } from './messages.ts'
import { noSamples } from './pass.ts'

export type DataFiles = Readonly<Partial<Record<Phase, readonly string[]>>>

/** The files of train_data_dir and test_data_dir. */
export async function findDataFiles({ runner, path }: JobConfig, phases: readonly Phase[]): Promise<DataFiles> {
  if (phases[0] === 'train' && runner.train_data_dir === undefined) throw nothingToTrain(path)
  setFileAccess({ name: runner.fs_name, ugi: runner.fs_ugi })
  const dirs = { train: runner.train_data_dir, infer: runner.test_data_dir }
  const keys = { train: 'runner.train_data_dir', infer: 'runner.test_data_dir' }
  const found = await Promise.all(
    phases.map(async (phase) => {
      const lists = [dirs[phase] ?? []].flat().map((dir) => listDataFiles(dir, keys[phase]))
      return lists.length === 0 ? [] : [[phase, (await Promise.all(lists)).flat()] as const]
    }),
  )
  return Object.fromEntries(found.flat())
}

function nothingToTrain(file: string): UserError {
  return new UserError(
    'runner.train_data_dir: missing, so there is nothing to train on; this config can only evaluate.',
    {
      code: 'CONFIG_MISSING_KEY',
      where: { file },
      hint: 'Evaluate saved models with oarfish infer, or give the folder of the training data: -o runner.train_data_dir=FOLDER',
    },
  )
}

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

/** One reader thread over the files of a phase, whose slots are named as the data has them. */
export async function openFirstReader(
  config: JobConfig,
  phase: Phase,
  slots: readonly Slot[],
  files: readonly string[],
): Promise<ReturnType<typeof openReaderPool>> {
  const { reader } = inputOf(config, phase, files)
  const named = namedAsData(slots, await readHead(files, HEAD_BYTES))
  return openReaderPool({ ...reader, slots: named, threads: 1 })
}

/** Reads the first samples of each phase through the reader that training uses: what it throws is found before anything is trained. */
export async function readFirstSamples(
  { config }: LoadedConfig,
  { slots }: TracedModel,
  files: DataFiles,
): Promise<void> {
  for (const [phase, list] of Object.entries(files) as [Phase, readonly string[]][]) {
    const { format } = inputOf(config, phase, list)
    const pool = await openFirstReader(config, phase, slots, list)
    try {
      let samples = 0
      for await (const batch of pool.read({ files: list, format, epoch: 0, batchSize: FIRST_SAMPLES })) {
        samples += batch.size
        releaseBatch(batch)
        break
      }
      if (samples === 0) throw noSamples(phase)
    } finally {
      await pool.close()
    }
  }
}

const FIRST_SAMPLES = 256

export interface ReadersOptions {
  /** The order in which the data has its slots. @default the model's */
  readonly slots?: readonly Slot[] | undefined
  /** Where batches come from, by phase; they stay the caller's to close. @default readers as the config says */
  readonly readers?: Readonly<Partial<Record<Phase, ReaderPool>>> | undefined
  /** How a global shuffle reaches the other processes. @default there are none */
  readonly exchange?: Exchange | undefined
  /** Both phases read the same files in turn: what is kept in memory is kept once. @default false */
  readonly together?: boolean | undefined
}

/** A pool of reader threads for each phase that has files. Phases that read alike share one. */
export async function openReaders(
  config: JobConfig,
  model: TracedModel,
  files: DataFiles,
  { slots: order = model.slots, readers = {}, exchange, together = false }: ReadersOptions,
): Promise<ReadonlyMap<Phase, ReaderPool>> {
  const { runner } = config
  const pools = new Map<string, ReaderPool>()
  const slots = await slotsInData(order, files)
  const open = ({ reader, inMemory }: Input, phase: Phase) => {
    const options = { ...reader, slots, threads: readerThreads(runner) }
    if (!inMemory) return openReaderPool(options)
    const { parse_ins_id: parseInsId, parse_content: parseContent } = runner
    const shuffle = phase === 'train' || together ? shuffleOf(runner) : undefined
    return openMemoryPool({ ...options, shuffle, parseInsId, parseContent, exchange })
  }
  return new Map(
    (Object.keys(files) as Phase[]).map((phase) => {
      const given = readers[phase]
      if (given) return [phase, { read: (options) => given.read(options), close: async () => undefined }]
      const input = inputOf(config, phase, files[phase]!)
      // What is kept in memory is each phase's own.
      const key = JSON.stringify([input.reader, input.inMemory && !together && phase])
      const pool = pools.get(key) ?? open(input, phase)
      pools.set(key, pool)
      return [phase, pool]
    }),
  )
}

/** Slots by the names that they have in the data. */
export async function slotsInData(slots: readonly Slot[], files: DataFiles): Promise<readonly Slot[]> {
  return namedAsData(slots, await readHead(files.train ?? files.infer ?? [], HEAD_BYTES))
}

export async function closeReaders(readers: ReadonlyMap<Phase, ReaderPool>): Promise<void> {
  await Promise.all([...new Set(readers.values())].map((pool) => pool.close()))
}

export function shuffleOf({ local_shuffle, global_shuffle }: JobConfig['runner']): 'local' | 'global' | undefined {
  return global_shuffle ? 'global' : local_shuffle ? 'local' : undefined
}

/** Enough to see by which names slots go. */
const HEAD_BYTES = 64 * 1024

/** A reader thread feeds about ten trainer threads, but a user's own reader is slower: some, not all, of the cores. */
export function readerThreads({ reader_threads, thread_num: trainers }: JobConfig['runner']): number {
  return reader_threads || Math.max(1, Math.min(4, availableParallelism() - trainers))
}

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
  // What is kept in memory may come from a reader in TypeScript too.
  const reads = inMemory ? !piped && !path?.endsWith('.py') : type !== 'QueueDataset'
  const own = reads && path !== undefined && existsSync(path)
  const python = own && path.endsWith('.py')
  const table = piped || own ? undefined : tableOf(runner.data_format, files)
  const { data_format, on_bad_line, parse_ins_id, parse_content } = runner
  return {
    inMemory,
    isText: !piped && !own && !table,
    format: data_format === 'csv' || data_format === 'parquet' ? 'auto' : data_format,
    reader: {
      onBadLine: on_bad_line,
      leadingFields: Number(parse_ins_id) + Number(parse_content),
      padding: dataset?.padding,
      userReader:
        own && !python ? { path, className: dataset?.readerClass, config: { runner, hyper_parameters } } : undefined,
      python: python ? pythonOf(config, path) : undefined,
      pipe: piped ? pipeOf(config) : undefined,
      table,
      columns: table && columnsOf(config),
    },
  }
}

/** How its files are read. */
export function inputKind({ reader }: Input): InputKind {
  return readerKind(reader)
}

/** CustomizeDataLoader is a reader in the model's own file. */
function modelFile(dir: string): string | undefined {
  const names = [...MODEL_FILES.static, ...MODEL_FILES.dygraph]
  return names.map((name) => join(dir, name)).find((path) => existsSync(path))
}

function pipeOf({ runner, path, dir }: JobConfig) {
  return pipeCommand({ command: runner.pipe_command!, yaml: path, dir, cwd: process.cwd() })
}

function pythonOf({ runner, path: yaml, dir, dataset, written }: JobConfig, path: string) {
  const className = dataset?.readerClass
  const { reader_files: files } = runner
  const together = files === 'auto' ? !readsFileByFile(readFileSync(path, 'utf8'), className) : files === 'all'
  const config = { ...written, config_abs_dir: dir, yaml_path: yaml }
  return { path, dir, yaml, cwd: process.cwd(), className, config, together }
}

function columnsOf({ runner }: JobConfig): NonNullable<ReaderPoolOptions['columns']> {
  const { columns, csv_header, csv_delimiter } = runner
  return { columns, header: csv_header, delimiter: csv_delimiter }
}

function tableOf(format: string, files: readonly string[]): 'csv' | 'parquet' | undefined {
  if (format === 'csv' || format === 'parquet') return format
  if (format !== 'auto' || files.length === 0) return undefined
  if (files.every((file) => file.endsWith('.parquet'))) return 'parquet'
  return files.every((file) => /\.(csv|tsv)(\.gz)?$/.test(file)) ? 'csv' : undefined
}
