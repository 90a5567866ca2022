/** @file UCI's census (adult.data, adult.test) with two tasks: income above 50,000, and whether somebody never married. */
import {
  broken,
  openWriters,
  type Part,
  type RawDataOptions,
  type RawDataResult,
  type RawRow,
  rawFile,
  rowsOf,
} from './raw.ts'

/** age, workclass, fnlwgt, education, education-num, marital-status, occupation, relationship, race, sex, gain, loss, hours, country, income. */
const COLUMNS = 15
const MARITAL = 5
const INCOME = 14
/** Columns of numbers, each divided by about its largest; fnlwgt says how many people a row stands for, not who they are. */
const NUMBERS: Readonly<Record<number, (value: number) => number>> = {
  0: (age) => age / 100,
  4: (years) => years / 16,
  10: (gain) => Math.log1p(gain) / 12,
  11: (loss) => Math.log1p(loss) / 9,
  12: (hours) => hours / 100,
}
const WORDS = [1, 3, 6, 7, 8, 9, 13]

/** Numbers, and a column of 0 or 1 for each word that the training rows have; the published files are the two parts. */
export async function prepareCensus(options: RawDataOptions): Promise<RawDataResult> {
  const files: Readonly<Record<Part, string>> = {
    train: rawFile(options.from, 'adult.data'),
    test: rawFile(options.from, 'adult.test'),
  }
  const places = await wordsOf(files.train)
  const width = Object.keys(NUMBERS).length + places.size
  const writers = openWriters(options.out, options.force ?? false)
  for (const part of ['train', 'test'] as const)
    for await (const row of censusRows(files[part], part === 'train' ? options.onProgress : undefined))
      await writers.write(part, rowOf(row, places, width))
  return { ...(await writers.close()), hyper: { feature_size: width } }
}

/** Rows; adult.test begins with a line of its own, |1x3 Cross validator, in UCI's copy. */
async function* censusRows(file: string, onProgress?: RawDataOptions['onProgress']): AsyncGenerator<RawRow> {
  for await (const row of rowsOf(file, { columns: 1, separator: /,\s*/, header: false, onProgress })) {
    const { columns, place } = row
    if (columns[0]!.startsWith('|')) continue
    if (columns.length !== COLUMNS)
      throw broken(`expected ${COLUMNS} columns, found ${columns.length}: ${columns.join(', ').slice(0, 60)}`, place)
    yield row
  }
}

async function wordsOf(file: string): Promise<ReadonlyMap<string, number>> {
  const words = new Set<string>()
  for await (const { columns } of censusRows(file))
    for (const column of WORDS) words.add(`${column}=${columns[column]}`)
  return new Map([...words].sort().map((word, i) => [word, i]))
}

/** MultiSlot text: the values, then the two labels. */
function rowOf({ columns }: RawRow, places: ReadonlyMap<string, number>, width: number): string {
  const values = new Array<string>(width).fill('0')
  const numbers = Object.entries(NUMBERS)
  for (const [i, [column, scaled]] of numbers.entries()) values[i] = scaled(Number(columns[Number(column)])).toFixed(4)
  for (const column of WORDS) {
    const at = places.get(`${column}=${columns[column]}`)
    if (at !== undefined) values[numbers.length + at] = '1'
  }
  const income = columns[INCOME]!.startsWith('>50K') ? 1 : 0
  const marital = columns[MARITAL] === 'Never-married' ? 1 : 0
  return `${width} ${values.join(' ')} 1 ${income} 1 ${marital}`
}
