/** @file Scores text: files through the readers of training, a pipe block by block through the same parser. */
import { statSync } from 'node:fs'
import { type DeviceName, openDevice } from '../../base/device/index.ts'
import { processEnv } from '../../base/env/index.ts'
import { isRemotePath } from '../../base/fs/index.ts'
import { isUserError, UserError } from '../../base/util/index.ts'
import {
  batchColumns,
  createTextBlockParser,
  formatOf,
  headOf,
  inputKind,
  listDataFiles,
  looksLike,
  openReader,
  type ReaderPoolOptions,
  type ReadOptions,
  readHead,
  refuseStrangers,
  releaseBatch,
  textSlots,
  wholeLines,
} from '../../data/index.ts'
import { noInput } from './errors.ts'
import type { ExportSlot } from './manifest.ts'
import { openExport } from './open.ts'
import { type Scored, Scorer } from './scorer.ts'

type Format = NonNullable<ReadOptions['format']>
export const PREDICT_FORMATS = ['auto', 'slot', 'multislot'] as const satisfies readonly Format[]

export interface TextOptions {
  /** A file or a folder of files, plain or .gz; or text as it arrives. */
  readonly input: string | AsyncIterable<Uint8Array>
  /** @default 'auto' */
  readonly format?: Format | undefined
  readonly onNotice?: ((message: string) => void) | undefined
  /** How files are read, where not as text: a reader.ts, columns of a table. @default text */
  readonly reader?: FileReader | undefined
}

export type FileReader = Omit<ReaderPoolOptions, 'slots' | 'threads'>

export interface PredictOptions extends TextOptions {
  /** A folder that findExport understands. */
  readonly model: string
  /** What computes: a provider that must be there, or gpu for the best of this host. @default 'cpu' */
  readonly device?: DeviceName | undefined
}

const BATCH = 512
const BLOCK_BYTES = 256 * 1024

/** Opens an export, scores text with it and closes it: see scoreText. */
export async function* predict({ model, device = 'cpu', ...text }: PredictOptions): AsyncGenerator<Scored> {
  const opened = openDevice({ device }, processEnv(), text.onNotice ?? (() => {}))
  const scorer = await Scorer.open(await openExport(model), opened)
  try {
    yield* scoreText(scorer, text)
  } finally {
    await scorer.close()
  }
}

/** Scores in the order of the lines. What a line lacks is filled as in training: sign 0, zeros. */
export async function* scoreText(
  scorer: Pick<Scorer, 'manifest' | 'score'>,
  { input, format = 'auto', onNotice = () => {}, reader }: TextOptions,
): AsyncGenerator<Scored> {
  const { slots } = scorer.manifest
  try {
    const samples =
      typeof input === 'string'
        ? fileColumns(input, slots, { ...reader, format, onNotice })
        : pipeColumns(input, slots, format)
    for await (const columns of samples) if (columns.samples > 0) yield await scorer.score(columns)
  } catch (error) {
    throw withoutSkipping(error)
  }
}

async function* fileColumns(
  path: string,
  all: readonly ExportSlot[],
  options: FileReader & Pick<ReadOptions, 'format' | 'onNotice'>,
) {
  const slots = withRequired(all)
  const found = isRemotePath(path) ? undefined : statSync(path, { throwIfNoEntry: false })
  if (!found && !isRemotePath(path)) throw noInput(path)
  if (found?.isFile() && found.size === 0) return
  const files = found?.isDirectory() || isRemotePath(path) ? await listDataFiles(path, 'the folder to predict') : [path]
  const head = inputKind(options) === 'text' ? await readHead(files) : undefined
  const isNamed =
    options.format === 'slot' || (head && options.format === 'auto' && looksLike(head.lines[0]!.text) === 'slot')
  if (head && isNamed) refuseStrangers(textSlots(slots), head)
  for await (const batch of openReader({ ...options, slots, threads: 1, files, batchSize: BATCH, epoch: 0 })) {
    const columns = batchColumns(slots, batch)
    releaseBatch(batch)
    yield columns
  }
}

/** The label and whatever else the scores do not need may be missing. */
function withRequired(slots: readonly ExportSlot[]) {
  return slots.map((slot) => ({ ...slot, required: slot.needed ? undefined : false }))
}

async function* pipeColumns(input: AsyncIterable<Uint8Array>, slots: readonly ExportSlot[], format: Format) {
  const parse = createTextBlockParser(slots)
  let known = format
  for await (const { bytes: text, first } of lineBlocks(input)) {
    if (known === 'auto') known = formatOf(text)
    if (first === 1 && known === 'slot') refuseStrangers(textSlots(withRequired(slots)), headOf('-', text))
    yield parse({ text, format: known, file: '-', linesBefore: first - 1 })
  }
}

/** Whole lines, many at a time. */
async function* lineBlocks(input: AsyncIterable<Uint8Array>) {
  let pending: Buffer[] = []
  let [length, first] = [0, 1]
  for await (const lines of wholeLines(input, '-')) {
    if (pending.length === 0) first = lines.first
    pending.push(lines.bytes)
    length += lines.bytes.length
    if (length < BLOCK_BYTES) continue
    yield { bytes: Buffer.concat(pending), first }
    ;[pending, length] = [[], 0]
  }
  if (length > 0) yield { bytes: Buffer.concat(pending), first }
}

/** Training can skip a bad line; here every line must get its score. */
function withoutSkipping(error: unknown): unknown {
  if (!isUserError(error) || error.code !== 'DATA_LINE') return error
  const { code, where, message, cause } = error
  const hint =
    'Mend the line, name the format with --format slot or --format multislot, or read it as training does, with its reader.ts and columns: -m config.yaml'
  return new UserError(message, { code, where, hint, cause })
}
