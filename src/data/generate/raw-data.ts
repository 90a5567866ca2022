/** @file Published data sets as they are downloaded, to the form that models read: streaming, train/ and test/ with one file each. */
import { createWriteStream, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { hashText, UserError } from '../../base/util/index.ts'
import { readLines } from '../user/rec-dataset.ts'
import { prepareFolder } from './out-folder.ts'

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
  readonly hyper: Readonly<Record<string, number>>
}

/** MovieLens 100k: each rating is a sample, clicked where it is 4 or 5; one in ten, by its hash, is for the test. */
export async function prepareMovielens(options: RawDataOptions): Promise<RawDataResult> {
  const { from } = options
  const users = await columnsByKey(rawFile(from, 'u.user'), 5)
  const items = await columnsByKey(rawFile(from, 'u.item'), 24)
  const ratings = rawFile(from, 'u.data')
  const writers = openWriters(options)
  for await (const { columns, place } of rowsOf(ratings, 4, options.onProgress)) {
    const [user, item, rating, time] = columns as [string, string, string, string]
    const profile = users.get(user) ?? missing('user', user, 'u.user', place)
    const film = items.get(item) ?? missing('item', item, 'u.item', place)
    const row = movielensRow({ user, item, rating, time, profile, film })
    await writers.write(hashText(`${user} ${item}`) % 10n === 0n ? 'test' : 'train', row)
  }
  return { ...(await writers.close()), hyper: { sparse_inputs_slots: 1 + MOVIELENS_SLOTS, dense_input_dim: 2 } }
}

/** user, item, age, gender, occupation, zip, year, genres. */
const MOVIELENS_SLOTS = 8

interface Rating {
  readonly user: string
  readonly item: string
  readonly rating: string
  readonly time: string
  readonly profile: readonly string[]
  readonly film: readonly string[]
}

/** Slot text. A sign is the hash of slot and value, so that slots can share a table. */
function movielensRow({ user, item, rating, time, profile, film }: Rating): string {
  const [, age, gender, occupation, zip] = profile
  const genres = film.slice(5).flatMap((has, i) => (has === '1' ? [String(i)] : []))
  const decade = Math.floor(Number(age) / 10)
  const slots = [
    [user],
    [item],
    [String(decade)],
    [gender!],
    [occupation!],
    [zip!.slice(0, 2)],
    [film[2]!.slice(-4)],
    genres,
  ]
  const signs = slots.flatMap((values, i) => values.map((value) => `${i + 1}:${hashText(`${i + 1}=${value}`)}`))
  const hour = new Date(Number(time) * 1000).getUTCHours()
  const dense = [Number(age) / 100, hour / 24].map((value) => `dense_feature:${value.toFixed(4)}`)
  return [`click:${Number(rating) >= 4 ? 1 : 0}`, ...dense, ...signs].join(' ')
}

/** `user item` a line, those of a user together and in the order of time, as SASRec's authors published them: one history a line. */
export async function prepareSequences(options: RawDataOptions & { readonly file?: string }): Promise<RawDataResult> {
  const file = rawFile(options.from, options.file ?? 'Video.txt')
  const writers = openWriters(options)
  const seen = new Set<string>()
  let [user, history, largest]: [string | undefined, string[], number] = [undefined, [], 0]
  const flush = async () => {
    // The readers of models/recall/sasrec leave the last items out of training: both folders hold whole histories.
    for (const part of ['train', 'test'] as const) await writers.write(part, history.join(' '))
  }
  for await (const { columns, place } of rowsOf(file, 2, options.onProgress)) {
    const [own, item] = columns as [string, string]
    if (!/^[1-9]\d*$/.test(item)) throw broken(`expected the number of an item, from 1 on, found "${item}".`, place)
    if (own !== user) {
      if (user !== undefined) await flush()
      if (seen.has(own)) throw broken(`user ${own} came before: the lines of a user must stand together.`, place)
      seen.add(own)
      user = own
      history = []
    }
    history.push(item)
    largest = Math.max(largest, Number(item))
  }
  if (user === undefined) throw broken('there are no lines.', { file })
  await flush()
  return { ...(await writers.close()), hyper: { item_num: largest } }
}

interface Place {
  readonly file: string
  readonly line?: number
}

function broken(message: string, where: Place, hint = 'Take the file as it was published.'): UserError {
  return new UserError(message, { code: 'DATA_RAW', where, hint })
}

function missing(what: string, id: string, file: string, place: Place): never {
  throw broken(`${what} ${id} is not in ${file}.`, place, `Take all files of one version of the data set.`)
}

function rawFile(from: string, name: string): string {
  const path = join(from, name)
  if (existsSync(path)) return path
  const hint = `Name the folder that holds ${name} with --from.`
  throw new UserError(`There is no file ${name}.`, { code: 'DATA_RAW', where: { file: from }, hint })
}

/** Lines as columns, divided by tabs, bars or spaces; a line of names at the top is left out. */
async function* rowsOf(
  file: string,
  columns: number,
  onProgress?: RawDataOptions['onProgress'],
): AsyncGenerator<{ readonly columns: readonly string[]; readonly place: Place }> {
  const { size } = statSync(file)
  let [line, bytes, told] = [0, 0, 0]
  for await (const text of readLines(file)) {
    line++
    bytes += text.length + 1
    if (bytes - told > size / 200) {
      told = bytes
      onProgress?.(bytes, size)
    }
    const found = text.split(text.includes('|') ? '|' : text.includes('\t') ? '\t' : /\s+/)
    if (line === 1 && /^[a-z]/i.test(text)) continue
    if (found.length < columns)
      throw broken(`expected ${columns} columns, found ${found.length}: ${text.slice(0, 60)}`, { file, line })
    yield { columns: found, place: { file, line } }
  }
  onProgress?.(size, size)
}

async function columnsByKey(file: string, count: number): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = new Map<string, readonly string[]>()
  for await (const { columns } of rowsOf(file, count)) rows.set(columns[0]!, columns)
  return rows
}

/** train/part-000 and test/part-000, written as fast as the disk takes it. */
function openWriters({ out, force = false }: RawDataOptions) {
  prepareFolder(out, force)
  const open = (part: string) => ({ stream: createWriteStream(join(out, part, 'part-000')), rows: 0 })
  const parts = { train: open('train'), test: open('test') }
  return {
    async write(part: keyof typeof parts, row: string): Promise<void> {
      const { stream } = parts[part]
      parts[part].rows++
      if (!stream.write(`${row}\n`)) await new Promise<void>((resolve) => stream.once('drain', resolve))
    },
    async close() {
      for (const { stream } of Object.values(parts)) {
        stream.end()
        await finished(stream)
      }
      return { trainRows: parts.train.rows, testRows: parts.test.rows }
    },
  }
}
