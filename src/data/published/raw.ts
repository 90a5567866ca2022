/** @file What the published data sets share: rows of raw files with their places, train/ and test/ in parts, and going on after a stop. */
import { createWriteStream, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { UserError } from '../../base/util/index.ts'
import { prepareFolder } from '../generate/out-folder.ts'
import { readLines } from '../user/rec-dataset.ts'

export interface RawDataOptions {
  /** The folder with the published files. */
  readonly from: string
  readonly out: string
  /** Replaces train/ and test/ of a folder that is not empty. @default false */
  readonly force?: boolean | undefined
  /** Called some hundred times, with bytes. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined
}

/** What was written, and the keys of `hyper_parameters` that fit it. */
export interface RawDataResult {
  readonly trainRows: number
  readonly testRows: number
  readonly hyper: Readonly<Record<string, number | readonly number[]>>
}

export interface Place {
  readonly file: string
  readonly line?: number
}

/** Raw lines between two notes of how far it has come; what came after the last one is read again. */
const NOTED = 1_000_000
const NOTE = '.oarfish-data.json'

export type Part = 'train' | 'test'

export function broken(message: string, where: Place, hint = 'Take the file as it was published.'): UserError {
  return new UserError(message, { code: 'DATA_RAW', where, hint })
}

/** The first of these files that is there; plain, or packed as .gz. */
export function rawFile(from: string, ...names: readonly string[]): string {
  const found = names.flatMap((name) => [name, `${name}.gz`]).find((name) => existsSync(join(from, name)))
  if (found) return join(from, found)
  const hint = `Name the folder that holds ${names.join(' or ')} with --from.`
  throw new UserError(`There is no file ${names[0]}.`, { code: 'DATA_RAW', where: { file: from }, hint })
}

export interface RowOptions {
  readonly columns: number
  /** @default bars, tabs or spaces, whichever a line has */
  readonly separator?: string | RegExp | undefined
  /** `true`: the first line has names; `undefined`: it has where it begins with a letter. */
  readonly header?: boolean | undefined
  readonly onProgress?: RawDataOptions['onProgress']
}

export interface RawRow {
  readonly columns: readonly string[]
  readonly place: Place & { readonly line: number }
}

/** Lines as columns; a line of names at the top is left out. */
export async function* rowsOf(
  file: string,
  { columns, separator, header, onProgress }: RowOptions,
): AsyncGenerator<RawRow> {
  const { size } = statSync(file)
  let [line, bytes, told] = [0, 0, 0]
  for await (const text of readLines(file)) {
    line++
    bytes += text.length + 1
    if (bytes - told > size / 200) {
      told = bytes
      onProgress?.(Math.min(bytes, size - 1), size)
    }
    if (line === 1 && (header ?? /^[a-z]/i.test(text))) continue
    const found = text.split(separator ?? (text.includes('|') ? '|' : text.includes('\t') ? '\t' : /\s+/))
    if (found.length < columns)
      throw broken(`expected ${columns} columns, found ${found.length}: ${text.slice(0, 60)}`, { file, line })
    yield { columns: found, place: { file, line } }
  }
  onProgress?.(size, size)
}

/** How far a stopped run came. */
interface Note {
  readonly source: string
  readonly line: number
  readonly rows: Readonly<Record<Part, number>>
  readonly parts: number
}

/**
 * Writes what `convert` makes of each row to train/part-000, -001, .. and test/. A run that was stopped goes on after the last million lines, where
 * the source is the same file of the same size.
 */
export async function convertRows(
  { out, force = false, onProgress }: RawDataOptions,
  file: string,
  rows: Omit<RowOptions, 'onProgress'>,
  convert: (row: RawRow) => { readonly part: Part; readonly text: string } | undefined,
  every = NOTED,
): Promise<Omit<RawDataResult, 'hyper'>> {
  const source = `${file} of ${statSync(file).size} bytes`
  const noted = force ? undefined : noteIn(out, source)
  const writers = openWriters(out, force, noted)
  for await (const row of rowsOf(file, { ...rows, onProgress })) {
    if (row.place.line <= (noted?.line ?? 0)) continue
    const made = convert(row)
    if (made) await writers.write(made.part, made.text)
    if (row.place.line % every === 0) await writers.note(source, row.place.line)
  }
  return writers.close()
}

function noteIn(out: string, source: string): Note | undefined {
  const path = join(out, NOTE)
  if (!existsSync(path)) return undefined
  const note = JSON.parse(readFileSync(path, 'utf8')) as Note
  return note.source === source ? note : undefined
}

/** train/ and test/, written as fast as the disk takes it. */
export function openWriters(out: string, force: boolean, noted?: Note) {
  if (!noted) prepareFolder(out, force)
  let part = noted?.parts ?? 0
  const rows: Record<Part, number> = { train: 0, test: 0, ...noted?.rows }
  const open = (name: Part) => createWriteStream(join(out, name, `part-${String(part).padStart(3, '0')}`))
  let streams = { train: open('train'), test: open('test') }
  const end = async () => {
    for (const stream of Object.values(streams)) {
      stream.end()
      await finished(stream)
    }
  }
  return {
    async write(name: Part, row: string): Promise<void> {
      rows[name]++
      const stream = streams[name]
      if (!stream.write(`${row}\n`)) await new Promise<void>((resolve) => stream.once('drain', resolve))
    },
    /** Everything up to this line is safe: a run that is stopped goes on from here. */
    async note(source: string, line: number): Promise<void> {
      await end()
      part++
      const path = join(out, NOTE)
      writeFileSync(`${path}.new`, JSON.stringify({ source, line, rows, parts: part } satisfies Note))
      renameSync(`${path}.new`, path)
      streams = { train: open('train'), test: open('test') }
    },
    async close(): Promise<Omit<RawDataResult, 'hyper'>> {
      await end()
      rmSync(join(out, NOTE), { force: true })
      return { trainRows: rows.train, testRows: rows.test }
    },
  }
}

/** Whole tables that rows are joined with, by their first column. */
export async function columnsByKey(
  file: string,
  columns: number,
  rest: Omit<RowOptions, 'columns'> = {},
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = new Map<string, readonly string[]>()
  for await (const row of rowsOf(file, { columns, ...rest })) rows.set(row.columns[0]!, row.columns)
  return rows
}

export function missing(what: string, id: string, file: string, place: Place): never {
  throw broken(`${what} ${id} is not in ${file}.`, place, `Take all files of one version of the data set.`)
}
