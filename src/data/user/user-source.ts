/** @file A user's own reader as a source: loads reader.ts on the reader thread and turns its samples into columns. */
import { importUserModule, isUserError, UserError, userPlace, withoutOwnLines } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import type { UserReaderOptions } from '../messages.ts'
import type { Chunk } from '../plan.ts'
import type { Source, SourcePart } from '../text/text-source.ts'
import { type ColumnWriter, createColumnWriter } from './column-writer.ts'
import { isLineReader, lineDataset } from './line-reader.ts'
import type { RecDataset, RecDatasetClass, Sequences } from './rec-dataset.ts'

export interface UserSourceOptions {
  readonly slots: readonly Slot[]
  readonly userReader: UserReaderOptions
}

/** Samples of a part: as many as a chunk of text has, more or less. */
const PART_SAMPLES = 2048
const PART_SIGNS = 256 * 1024
/** So many samples, or the first file, say what a reader gives. */
const WATCHED = 1000

export function createUserSource({ slots, userReader }: UserSourceOptions): (chunk: Chunk, seed?: number) => Source {
  const writer = createColumnWriter(slots)
  let loading: Promise<RecDatasetClass> | undefined
  let isWatched = true

  return async function* ({ file, files = [file], to }, seed = 0) {
    let sample = 0
    let sequences: Sequences | undefined
    try {
      loading ??= loadRecDataset(userReader)
      const dataset = new (await loading)(files, userReader.config, { seed })
      for await (const values of iterable(dataset, userReader.path)) {
        sample++
        writer.add(values)
        if (isWatched && sample === WATCHED) isWatched = checked(writer)
        if (writer.samples >= PART_SAMPLES || writer.signs >= PART_SIGNS) yield takePart(writer, 0)
      }
      sequences = dataset.sequencesRead
      if (isWatched && sample > 0) isWatched = checked(writer)
    } catch (error) {
      // What was read before the failure still counts.
      const part = takePart(writer, 0)
      if (part.columns.samples > 0) yield part
      throw readerError(error, { path: userReader.path, file, sample })
    }
    yield { ...takePart(writer, to), sequences }
  }
}

function checked(writer: ColumnWriter): false {
  writer.checkGiven()
  return false
}

interface DatasetModule {
  openDataset(config: unknown): Promise<RecDatasetClass>
}

/** The class that a user's file exports, of either kind. */
export async function loadRecDataset({ path, className, ours, config }: UserReaderOptions): Promise<RecDatasetClass> {
  if (ours) return ((await import(path)) as DatasetModule).openDataset(config)
  const module = await importUserModule<Record<string, unknown>>(path)
  const named = className === undefined ? undefined : module[className]
  if (isLineReader(named)) return lineDataset(named)
  const found = named ?? module['RecDataset'] ?? module['default']
  if (typeof found === 'function') return found as RecDatasetClass
  throw new UserError('The reader does not export a class RecDataset.', {
    code: 'DATA_READER',
    where: { file: path },
    hint: 'export class RecDataset { constructor(fileList, config) {} *[Symbol.iterator]() { yield { click: 0 } } }',
  })
}

function iterable(dataset: RecDataset, path: string): RecDataset {
  if (Symbol.asyncIterator in dataset || Symbol.iterator in dataset) return dataset
  throw new UserError('RecDataset has neither [Symbol.iterator] nor [Symbol.asyncIterator].', {
    code: 'DATA_READER',
    where: { file: path },
    hint: 'async *[Symbol.asyncIterator]() { yield { click: 0 } }',
  })
}

function takePart(writer: ColumnWriter, bytes: number): SourcePart {
  return { ...writer.take(), bytes, skipped: 0 }
}

/** The user's error with its own stack, and the sample it is about. */
function readerError(
  error: unknown,
  { path, file, sample }: { path: string; file: string; sample: number },
): UserError {
  if (isUserError(error) && error.where) return error
  const detail =
    error instanceof Error && !isUserError(error)
      ? withoutOwnLines(error.stack ?? error.message)
      : String((error as Error)?.message ?? error)
  const place = sample === 0 ? `before its first sample of ${file}` : `at sample ${sample} of ${file}`
  return new UserError(`RecDataset failed ${place}: ${detail}`, {
    code: 'DATA_READER',
    where: { file: path, line: userPlace((error as Error)?.stack)?.line },
    hint: isUserError(error) ? error.hint : 'oarfish check -m config.yaml reads the first samples through it.',
    cause: error,
  })
}
