import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, describe, expect, test } from 'vitest'
import { collect, type PlainSample, randomSamples, SLOTS, testReader } from '../../../test/contracts/reader.ts'
import { formatUserError, hashText, isUserError } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { openReader, type ReaderOptions } from '../reader-pool.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-table-'))
afterAll(() => rmSync(folder, { recursive: true }))
const put = (dir: string, name: string, content: string | Uint8Array) => {
  writeFileSync(join(dir, name), content)
  return join(dir, name)
}

const csvOptions = {
  table: 'csv',
  columns: {
    columns: { '1': { from: 'a', split: '|' }, '2': { from: ['b'], split: '|' }, dense_feature: ['x', 'y', 'z'] },
  },
} as const
const csvLine = ([[click], a, b, dense]: PlainSample) => [click, a.join('|'), `"${b.join('|')}"`, ...dense].join(',')
const csvOf = (samples: readonly PlainSample[]) => `click,a,b,x,y,z\n${samples.map(csvLine).join('\n')}\n`
// The contract counts samples from 1 and a file's header is line 1.
const csvBroken = (samples: readonly PlainSample[]) =>
  `${samples.slice(1).reduce((text, sample) => `${text}${csvLine(sample)}\n`, `click,a,b,x,y,z\n${csvLine(samples[0]!)}\n`)}0,x,1,0,0,0\n`

testReader({
  name: 'CSV',
  write: (dir, name, samples) => put(dir, `${name}.csv`, csvOf(samples)),
  writeBroken: (dir, name, samples) => put(dir, `${name}.csv`, csvBroken(samples)),
  options: csvOptions,
  brokenAt: /:202 Column "a": expected a whole number from 0 to \d+, found "x"/,
})
testReader({
  name: 'gzip of CSV',
  write: (dir, name, samples) => put(dir, `${name}.csv.gz`, gzipSync(csvOf(samples))),
  writeBroken: (dir, name, samples) => put(dir, `${name}.csv.gz`, gzipSync(csvBroken(samples))),
  options: csvOptions,
  brokenAt: /:202 Column "a": expected a whole number/,
})

/** Ids as Parquet's signed 64 bits: as text, which holds all of them. */
function parquetOf(samples: readonly PlainSample[]): Uint8Array {
  const texts = (slot: 1 | 2) => samples.map((sample) => sample[slot].join('|'))
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        {
          name: 'click',
          data: samples.map(([[click]]) => click),
          type: 'INT64',
        },
        { name: 'a', data: texts(1), type: 'STRING' },
        { name: 'b', data: texts(2), type: 'STRING' },
        ...['x', 'y', 'z'].map((name, i) => ({
          name,
          data: samples.map((sample) => sample[3][i as 0]),
          type: 'FLOAT' as const,
        })),
      ],
      rowGroupSize: 50,
    }),
  )
}
testReader({
  name: 'Parquet',
  write: (dir, name, samples) => put(dir, `${name}.parquet`, parquetOf(samples)),
  writeBroken: (dir, name, samples) => {
    const bad = [[1n], ['oops'], [1n], [0, 0, 0]] as unknown as PlainSample
    return put(dir, `${name}.parquet`, parquetOf([...samples, bad, samples[0]!]))
  },
  options: { ...csvOptions, table: 'parquet' },
  brokenAt: /parquet Row 201: Column "a": expected a whole number from 0 to \d+, found "oops"/,
})

const slots: readonly Slot[] = [
  { kind: 'dense', name: 'label', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: 'city' },
  { kind: 'dense', name: 'price', width: 1, dtype: 'float32' },
]
async function rowsOf(file: string, options: Partial<ReaderOptions>) {
  const rows: unknown[] = []
  const reader = openReader({ files: [file], slots, batchSize: 2, threads: 1, epoch: 0, table: 'csv', ...options })
  for await (const { pieces } of reader) {
    for (const { chunk, from, to } of pieces)
      for (let i = from; i < to; i++)
        rows.push([
          chunk.dense[0]![i],
          [...chunk.signs.slice(chunk.starts[i], chunk.starts[i + 1])],
          chunk.dense[1]![i],
        ])
  }
  return rows
}
async function errorOf(...args: Parameters<typeof rowsOf>): Promise<string> {
  const error = await rowsOf(...args).catch((thrown: unknown) => thrown)
  if (!isUserError(error)) throw error
  return formatUserError(error).replaceAll(`${folder}/`, '')
}

describe('columns', () => {
  test('are those of the slots by name; text is hashed with the name, empty cells are 0', async () => {
    const file = put(folder, 'a.csv', '\ufeffcity,label,more,price\r\n"New ""York"", NY",1,,2.5\r\n,0,,\r\n')
    const columns = { columns: { city: { type: 'hash' } } } as const
    expect(await rowsOf(file, { columns })).toEqual([
      [1n, [hashText('city:New "York", NY')], 2.5],
      [0n, [0n], 0],
    ])
  })

  test('may be without a header and behind another delimiter', async () => {
    const file = put(folder, 'b.txt', '7;0;1.5\n8;1;2\n')
    const columns = { header: false, delimiter: ';', columns: { city: '1', label: '2', price: '3' } }
    expect(await rowsOf(file, { columns })).toEqual([
      [0n, [7n], 1.5],
      [1n, [8n], 2],
    ])
    expect(await rowsOf(put(folder, 'b.tsv', 'label\tcity\tprice\n1\t3\t4\n'), {})).toEqual([[1n, [3n], 4]])
  })

  test.each([
    ['label,town,price\n0,1,2\n', /^c\.csv:1 There is no column "city"\.[\s\S]*The columns are label, town, price/],
    ['label,city,price\n0,1,2\n0,1\n', /^c\.csv:3 Expected 3 cells as in the first line, found 2\./],
    [
      'label,city,price\n0,1,2\n\n0,1,cheap\n',
      /^c\.csv:4 Column "price": expected a finite 32-bit number, found "cheap"/,
    ],
    [
      'label,city,price\n0,-1,2\n',
      /^c\.csv:2 Column "city": expected a whole number from 0 to 18446744073709551615, found "-1"/,
    ],
    ['label,city,price\n0,"1,2\n', /^c\.csv:2 A quote is not closed in its line/],
  ])('%j is refused', async (text, message) => {
    expect(await errorOf(put(folder, 'c.csv', text), {})).toMatch(message)
  })

  test('lines of blanks are none, also where blanks divide cells; a row may begin with an empty cell', async () => {
    const lines = ['label\tcity\tprice', '', '1\t3\t4', '\t\t', '  ', '\t5\t.5', '0\t\t-2.5\r']
    const rows = [
      [1n, [3n], 4],
      [0n, [5n], 0.5],
      [0n, [0n], -2.5],
    ]
    for (const end of ['', '\n']) {
      expect(await rowsOf(put(folder, 'blank.tsv', lines.join('\n') + end), {})).toEqual(rows)
      const packed = gzipSync(`\ufeff${lines.join('\n')}${end}`)
      expect(await rowsOf(put(folder, 'blank.tsv.gz', packed), {})).toEqual(rows)
    }
  })

  test('bad rows are left out and counted under skip', async () => {
    const notices: string[] = []
    const file = put(folder, 'd.csv', 'label,city,price\n0,1,2\n0,x,2\n1,2,3\n')
    const rows = await rowsOf(file, { onBadLine: 'skip', onNotice: (message) => notices.push(message) })
    expect(rows).toHaveLength(2)
    expect(notices).toEqual(['1 lines could not be parsed and were left out (runner.on_bad_line: skip).'])
  })

  test('of a line deep in a file are named with its number', async () => {
    const file = put(folder, 'e.csv', `label,city,price\n${'0,1,2\n'.repeat(3000)}0,1,x\n`)
    expect(await errorOf(file, { chunkBytes: 1000, threads: 2 })).toMatch(/^e\.csv:3002 Column "price"/)
  })

  test('must belong to slots, and dense slots cannot be hashed', () => {
    const file = put(folder, 'f.csv', 'label,city,price\n')
    const columns = (spec: object) => ({ columns: { columns: spec } }) as Partial<ReaderOptions>
    const open = (spec: object) =>
      openReader({ files: [file], slots, batchSize: 2, threads: 1, epoch: 0, table: 'csv', ...columns(spec) })
    expect(() => open({ town: 'city' })).toThrow('runner.columns.town: the model declares no slot of this name.')
    expect(() => open({ price: { type: 'hash' } })).toThrow('only sparse slots can be hashed')
  })

  test('of Parquet may be lists and numbers of any kind', async () => {
    const data = parquetWriteBuffer({
      columnData: [
        { name: 'label', data: [true, false], type: 'BOOLEAN' },
        { name: 'city', data: [5n, 2n ** 62n], type: 'INT64' },
        { name: 'price', data: [1, 2], type: 'INT32' },
      ],
    })
    const file = put(folder, 'g.parquet', new Uint8Array(data))
    expect(await rowsOf(file, { table: 'parquet' })).toEqual([
      [1n, [5n], 1],
      [0n, [2n ** 62n], 2],
    ])
    expect(await errorOf(file, { table: 'parquet', columns: { columns: { city: 'town' } } })).toMatch(
      /^g\.parquet There is no column "town"/,
    )
  })

  test('of Parquet that cannot be null are the same: 64 bits, negative, too small for an id', async () => {
    const written = (city: bigint[]) =>
      new Uint8Array(
        parquetWriteBuffer({
          columnData: [
            { name: 'label', data: [-1n, 2n ** 40n, 0n], type: 'INT64', nullable: false },
            { name: 'city', data: city, type: 'INT64', nullable: false },
            { name: 'price', data: [5n, -3n, 2n ** 53n + 1n], type: 'INT64', nullable: false },
          ],
        }),
      )
    expect(await rowsOf(put(folder, 'j.parquet', written([7n, 2n ** 62n + 1n, 0n])), { table: 'parquet' })).toEqual([
      [-1n, [7n], 5],
      [2n ** 40n, [2n ** 62n + 1n], -3],
      [0n, [0n], 2 ** 53],
    ])
    expect(await errorOf(put(folder, 'k.parquet', written([7n, -7n, 0n])), { table: 'parquet' })).toMatch(
      /^k\.parquet Row 2: Column "city": expected a whole number from 0 to 18446744073709551615, found -7/,
    )
  })

  test('of a file that is no Parquet are refused at once', () => {
    const file = put(folder, 'h.parquet', 'not a table at all')
    expect(() => openReader({ files: [file], slots, batchSize: 2, threads: 1, epoch: 0, table: 'parquet' })).toThrow(
      /The Parquet file cannot be read/,
    )
  })
})

test('samples of a table are those of the text', async () => {
  const samples = randomSamples(30)
  const read = (file: string, options: Partial<ReaderOptions>) =>
    collect(openReader({ files: [file], slots: SLOTS, batchSize: 8, threads: 1, epoch: 0, ...options }))
  const rows = await read(put(folder, 'i.csv', csvOf(samples)), csvOptions)
  expect(rows.flatMap((batch) => batch.samples)).toEqual(samples)
})

describe('what is no table is refused before memory is taken for it', () => {
  const long = () => `label,city,price\n0,1,2\n0,${'1'.repeat(20_000_000)},2\n`

  test('a line longer than 16 MiB, plain and packed', async () => {
    expect(await errorOf(put(folder, 'long.csv', long()), {})).toMatch(/^long\.csv:3 This line is longer than 16 MiB/)
    const packed = put(folder, 'long.csv.gz', gzipSync(long()))
    expect(await errorOf(packed, {})).toMatch(/^long\.csv\.gz:3 This line is longer than 16 MiB/)
  })

  test('a page of Parquet that unpacks to more than it says', async () => {
    const bomb = gzipSync(Buffer.alloc(300_000_000))
    const columnData = ['label', 'city', 'price'].map((name) => ({ name, data: [1n, 2n], type: 'INT64' as const }))
    const file = parquetWriteBuffer({ columnData, codec: 'GZIP', compressors: { GZIP: () => new Uint8Array(bomb) } })
    const text = await errorOf(put(folder, 'bomb.parquet', new Uint8Array(file)), { table: 'parquet' })
    expect(text).toMatch(
      /^bomb\.parquet The Parquet file cannot be read: Cannot create a Buffer larger than \d{1,3} bytes/,
    )
  })
})
