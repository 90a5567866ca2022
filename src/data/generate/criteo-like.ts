/** @file Data that looks like Criteo's click log, with a known truth: 13 counts, 26 long-tailed columns, a hidden model. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../../base/util/index.ts'
import { createHiddenModel, exactAuc, type HiddenModel } from './hidden-model.ts'
import { prepareFolder } from './out-folder.ts'
import { createRowFormat, type GeneratedFormat } from './row-format.ts'

export interface CriteoLikeOptions {
  /** Rows of train/; test/ has `testShare` times as many besides. */
  readonly rows: number
  /** @default 1 */
  readonly seed?: number | undefined
  /** Files of train/. The rows do not depend on it. @default 1 */
  readonly parts?: number | undefined
  /** @default 'slot' */
  readonly format?: GeneratedFormat | undefined
  /** Folder for train/ and test/. */
  readonly out: string
  /** @default 0.1 */
  readonly testShare?: number | undefined
  /** Writes into a folder that is not empty, replacing its train/ and test/. @default false */
  readonly force?: boolean | undefined
  /** Called some hundred times. */
  readonly onProgress?: ((rows: number, ofRows: number) => void) | undefined
}

export interface CriteoLikeResult {
  readonly trainRows: number
  readonly testRows: number
  readonly files: readonly string[]
  readonly positiveShare: number
  /** How well the hidden model itself ranks the test rows: what no model can beat, but by chance. */
  readonly hiddenAuc: number
}

const WRITE_BYTES = 1024 * 1024

/** Writes train/part-000.. and test/part-000 (part-0.. of criteo-tsv). The same seed gives the same rows in every format and number of parts. Blocks while it writes. */
export function generateCriteoLike(options: CriteoLikeOptions): CriteoLikeResult {
  const { rows, seed = 1, parts = 1, format = 'slot', out, testShare = 0.1, force = false, onProgress } = options
  checkOptions(rows, parts, testShare)
  prepareFolder(out, force)
  const testRows = Math.round(rows * testShare)
  const hidden = createHiddenModel(seed)
  const total = rows + testRows
  let done = 0
  let positives = 0
  const progress = (label: number) => {
    positives += label
    if (++done % Math.ceil(total / 200) === 0 || done === total) onProgress?.(done, total)
  }
  const write = (file: string, count: number, scores?: Scores) =>
    writeRows({ file, count, hidden, format: createRowFormat(format), progress, scores })

  const train = Array.from({ length: parts }, (_, i) =>
    write(
      join(out, 'train', partName(i, format)),
      Math.floor((rows * (i + 1)) / parts) - Math.floor((rows * i) / parts),
    ),
  )
  const scores: Scores = { positives: [], negatives: [] }
  const test = testRows > 0 ? [write(join(out, 'test', partName(0, format)), testRows, scores)] : []
  return {
    trainRows: rows,
    testRows,
    files: [...train, ...test],
    positiveShare: positives / total,
    hiddenAuc: exactAuc(Float64Array.from(scores.positives), Float64Array.from(scores.negatives)),
  }
}

interface Scores {
  readonly positives: number[]
  readonly negatives: number[]
}

function checkOptions(rows: number, parts: number, testShare: number): void {
  const fail = (message: string) => {
    throw new UserError(message, { code: 'DATA_GENERATE' })
  }
  if (!Number.isSafeInteger(rows) || rows < 1) fail(`rows: expected a whole number from 1 on, found ${rows}.`)
  if (!Number.isSafeInteger(parts) || parts < 1 || parts > rows)
    fail(`parts: expected 1 to ${rows} (the rows), found ${parts}.`)
  if (!(testShare >= 0 && testShare <= 1)) fail(`testShare: expected 0 to 1, found ${testShare}.`)
}

interface FileOfRows {
  readonly file: string
  readonly count: number
  readonly hidden: HiddenModel
  readonly format: ReturnType<typeof createRowFormat>
  readonly progress: (label: number) => void
  readonly scores: Scores | undefined
}

function writeRows({ file, count, hidden, format, progress, scores }: FileOfRows): string {
  const handle = openSync(file, 'w')
  const buffer = Buffer.allocUnsafe(WRITE_BYTES)
  let used = 0
  const flush = () => {
    for (let at = 0; at < used; ) at += writeSync(handle, buffer, at, used - at)
    used = 0
  }
  try {
    for (let i = 0; i < count; i++) {
      const row = hidden.next()
      const line = format(row)
      if (used + line.length > buffer.length) flush()
      used += buffer.write(line, used, 'latin1')
      if (scores) (row.label === 1 ? scores.positives : scores.negatives).push(row.score)
      progress(row.label)
    }
    flush()
  } finally {
    closeSync(handle)
  }
  return file
}

/** Programs that read Criteo's own columns count its parts without leading zeros. */
function partName(number: number, format: GeneratedFormat): string {
  return format === 'criteo-tsv' ? `part-${number}` : `part-${String(number).padStart(3, '0')}`
}
