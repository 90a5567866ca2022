/** @file Features declared once: the same signs and numbers from every reader, from a server and from Python. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { formatUserError, type UserError } from '../../src/base/util/index.ts'
import { signedLog } from '../../src/data/features/log.ts'
import { batchColumns, type Columns } from '../../src/data/index.ts'
import { openExport, Scorer } from '../../src/inference/export/index.ts'
import { createRequestParser } from '../../src/inference/serve/request.ts'
import { loadModelAs } from '../../src/model/index.ts'
import { diff, exportCheckpoint, train } from '../../src/training/driver/index.ts'
import { closeReaders, findDataFiles, inputOf, openReaders } from '../../src/training/threads/input.ts'
import { quiet } from './ways.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

const root = mkdtempSync(join(tmpdir(), 'oarfish-features-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const INPUTS = `
    click: label('click'), age: sparse('age', bucketise([18, 25, 35])), price: dense('price', 1, log()),
    city: sparse('city', vocabulary('cities.txt')), item: sparse('item', hash(1000)), user: sparse('user'),
    both: cross('user', 'item', { hash: 1e6 }), three: cross('age', 'city', 'user', { hash: 97, name: 'three' }),`

const model = (inputs = INPUTS) => `
import { defineModel, metric, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
export default defineModel({
  inputs: ({ label, sparse, dense, cross, hash, bucketise, vocabulary, ids, log }) => ({${inputs}
  }),
  net({ click, price, ...slots }) {
    const rows = nn.embedding(Object.values(slots) as never, { name: 'rows', dim: 4 })
    const logit = nn.linear(nn.concat([rows, price], 1), { name: 'fc', out: 1 })
    return { loss: nn.mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: nn.sigmoid(logit) } }
  },
  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),
  optimizer: optimizer.adam({ learningRate: 0.05 }),
})
`

/** Cities are numbers, so that text can have them too. */
const RECORDS = Array.from({ length: 60 }, (_, i) => ({
  click: Number(i % 3 === 0),
  age: [17, 18, 24.5, 25, 34, 35, 80][i % 7]!,
  price: [0, 1.5, -3, 1000, 0.001][i % 5]!,
  city: 100 + (i % 4),
  item: 7 * i,
  user: i % 11,
}))
type Field = keyof (typeof RECORDS)[number]
const FIELDS = Object.keys(RECORDS[0]!) as Field[]

/** The same records by every reader: what its file holds, what else lies beside the model, what the config says. */
interface Form {
  readonly file: string
  readonly data: string | Uint8Array
  readonly beside?: Readonly<Record<string, string>>
  readonly runner?: string
}
const JSON_LINES = RECORDS.map((own) => JSON.stringify(own)).join('\n')
const TEXT = RECORDS.map((own) => FIELDS.map((name) => `${name}:${own[name]}`).join(' ')).join('\n')
const CSV = [FIELDS.join(','), ...RECORDS.map((own) => FIELDS.map((name) => own[name]).join(','))].join('\n')
const READER = `import { BaseRecDataset } from 'oarfish'
export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator]() { for await (const line of this.lines()) yield JSON.parse(line) }
}
`
/** Raw fields in the order of the inputs; crosses have none. */
const PIPE = `import json, sys
for line in sys.stdin:
    print(*("1 %s" % json.loads(line)[name] for name in ${JSON.stringify(FIELDS)}))
`
const python = (sample: string) => `import json
class RecDataset:
    def __init__(self, file_list, config):
        self.file_list = file_list
    def __iter__(self):
        for file in self.file_list:
            for line in open(file):
                record = json.loads(line)
                yield ${sample}
`
const PYTHON = 'train_reader_path: py_reader\n  infer_reader_path: py_reader'
const parquet = (columns: Readonly<Record<string, readonly [string, readonly unknown[]]>>) =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: Object.entries(columns).map(([name, [type, data]]) => ({ name, data, type }) as never),
    }),
  )
const FORMS = {
  text: { file: 'part-0.txt', data: TEXT },
  'text in gzip': { file: 'part-0.gz', data: gzipSync(`${TEXT}\n`) },
  CSV: { file: 'part-0.csv', data: CSV },
  'CSV in quotes': {
    file: 'part-0.csv',
    data: CSV.split('\n')
      .map((line) => line.split(',').map((cell) => `"${cell}"`))
      .join('\n'),
  },
  Parquet: {
    file: 'part-0.parquet',
    data: parquet(
      Object.fromEntries(
        FIELDS.map((name) => {
          const type = name === 'age' || name === 'price' ? 'DOUBLE' : name === 'city' ? 'STRING' : 'INT64'
          const one = (value: number) => (type === 'INT64' ? BigInt(value) : type === 'STRING' ? String(value) : value)
          return [name, [type, RECORDS.map((own) => one(own[name]))] as const]
        }),
      ),
    ),
  },
  'a reader.ts': { file: 'part-0.json', data: JSON_LINES, beside: { 'reader.ts': READER } },
  'a pipe': {
    file: 'part-0.json',
    data: JSON_LINES,
    beside: { 'pipe.py': PIPE },
    runner: 'reader_type: QueueDataset\n  infer_reader_type: QueueDataset\n  pipe_command: python3 pipe.py',
  },
  'a pipe into memory': {
    file: 'part-0.json',
    data: JSON_LINES,
    beside: { 'pipe.py': PIPE },
    runner: 'reader_type: InmemoryDataset\n  infer_reader_type: InmemoryDataset\n  pipe_command: python3 pipe.py',
  },
  'a Python reader by name': {
    file: 'part-0.json',
    data: JSON_LINES,
    beside: { 'py_reader.py': python('record') },
    runner: PYTHON,
  },
  'a Python reader in order': {
    file: 'part-0.json',
    data: JSON_LINES,
    beside: { 'py_reader.py': python(`[[record[name]] for name in ${JSON.stringify(FIELDS)}]`) },
    runner: PYTHON,
  },
} as const satisfies Readonly<Record<string, Form>>

function folderOf({ file, data, beside = {}, runner = '' }: Form, own = model()): string {
  const folder = mkdtempSync(join(root, 'job-'))
  mkdirSync(join(folder, 'data'))
  const files = {
    [`data/${file}`]: typeof data === 'string' ? `${data}\n` : data,
    'cities.txt': '102\n100\n7\n',
    'model.ts': own,
    'config.yaml': `runner:\n  train_data_dir: data\n  test_data_dir: data\n  train_batch_size: 16\n  model_save_path: saved\n  ${runner}\n`,
    ...beside,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const load = (folder: string) => loadConfig({ path: join(folder, 'config.yaml'), cwd: folder })

async function columnsOf(folder: string): Promise<Columns> {
  const config = load(folder)
  const model = await loadModelAs('static', config)
  const files = await findDataFiles(config.config, ['train'])
  const readers = await openReaders(config.config, model, files, {})
  try {
    const { format } = inputOf(config.config, 'train', files.train!)
    for await (const batch of readers.get('train')!.read({ files: files.train!, format, batchSize: 1000, epoch: 0 }))
      return batchColumns(model.slots, batch)
  } finally {
    await closeReaders(readers)
  }
  throw new Error('nothing was read')
}

/** The sign of one slot of one sample; every slot here has one sign. */
const SPARSE = ['age', 'city', 'item', 'user', 'user_x_item', 'three']
const signOf = ({ signs }: Columns, sample: number, slot: string) =>
  Number(signs[sample * SPARSE.length + SPARSE.indexOf(slot)])

describe('every reader makes the same of raw records', () => {
  let text: Columns
  beforeAll(async () => {
    text = await columnsOf(folderOf(FORMS.text))
  })

  test.each(Object.entries(FORMS))('%s', async (_, form) => {
    const other = await columnsOf(folderOf(form))
    expect(other.samples).toBe(60)
    expect([...other.signs]).toEqual([...text.signs])
    expect([...other.counts.subarray(0, 360)]).toEqual([...text.counts.subarray(0, 360)])
    expect(other.dense).toEqual(text.dense)
  })

  test('which is what the features say', () => {
    // 17, 18, 24.5, 25, 34, 35, 80 in years; 102 is the first city, 100 the second, others are unknown.
    expect([0, 1, 2, 3, 4, 5, 6].map((i) => signOf(text, i, 'age'))).toEqual([0, 1, 1, 2, 2, 3, 3])
    expect([0, 1, 2, 3].map((i) => signOf(text, i, 'city'))).toEqual([2, 0, 1, 0])
    expect([...text.dense[1]!.subarray(0, 4)]).toEqual([0, 1.5, -3, 1000].map(signedLog))
    const items = RECORDS.map((_, i) => signOf(text, i, 'item'))
    expect(Math.max(...items)).toBeLessThan(1000)
    expect(new Set(items).size).toBeGreaterThan(50)
    expect(new Set(RECORDS.map((_, i) => signOf(text, i, 'user_x_item'))).size).toBe(60)
  })
})

test('words and lists of ids are taken from CSV; each combination is crossed', async () => {
  const inputs = `
    click: label('click'), price: dense('price', 1), city: sparse('city', vocabulary('cities.txt')),
    seen: sparse('seen', ids('|')), both: cross('city', 'seen', { hash: 1e6 }), age: sparse('years', bucketise([18], { from: 'age' })),`
  const data = 'click,price,city,seen,age\n1,2,Lima,5|6|7,17\n0,3,Oslo,9,18'
  const folder = folderOf({ file: 'part-0.csv', data }, model(inputs))
  writeFileSync(join(folder, 'cities.txt'), 'Paris\nLima\n')
  const { counts, signs } = await columnsOf(folder)
  expect([...counts.subarray(0, 8)]).toEqual([1, 3, 3, 1, 1, 1, 1, 1])
  expect([...signs.subarray(0, 4)]).toEqual([2n, 5n, 6n, 7n])
  expect([signs[7], signs[8], signs[9], signs[11]]).toEqual([0n, 0n, 9n, 1n])
})

test('the logarithm of several values, from text and from columns', async () => {
  const inputs = `click: label('click'), price: dense('price', 3, log()), user: sparse('user'),`
  const text = 'click:1 price:1 price:-2 price:1000 user:5\nclick:0 price:0 price:4 price:0.5 user:6'
  const csv = 'click,p,q,r,user\n1,1,-2,1000,5\n0,0,4,0.5,6'
  const [byText, byColumns] = [
    await columnsOf(folderOf({ file: 'part-0.txt', data: text }, model(inputs))),
    await columnsOf(folderOf({ file: 'part-0.csv', data: csv, runner: 'columns: {price: [p, q, r]}' }, model(inputs))),
  ]
  const logs = [1, -2, 1000, 0, 4, 0.5].map(signedLog)
  expect([...byText.dense[1]!]).toEqual(logs)
  expect([...byColumns.dense[1]!]).toEqual(logs)
})

/** The first record lacks what the features are made of; the second has all. */
test('what is missing or empty is 0 before its feature, whichever reader finds it so', async () => {
  const inputs = `click: label('click'), price: dense('price', 1, log()), age: sparse('age', bucketise([-5, 18])),
    city: sparse('city', vocabulary('cities.txt')), item: sparse('item', hash(1000)), seen: sparse('seen', ids('|')),
    both: cross('age', 'item', { hash: 1e6 }),`
  const cities = { 'cities.txt': '7\n0\n' }
  const whole = { click: 0, price: 1.5, age: 20, city: 7, item: 5, seen: 3 }
  const names = Object.keys(whole) as (keyof typeof whole)[]
  const forms: readonly Form[] = [
    { file: 'part-0.txt', data: `click:1\n${names.map((name) => `${name}:${whole[name]}`).join(' ')}` },
    { file: 'part-0.csv', data: `${names.join(',')}\n1,,,,,\n${Object.values(whole).join(',')}` },
    {
      file: 'part-0.parquet',
      data: parquet(
        Object.fromEntries(
          names.map((name) => [name, ['DOUBLE', [name === 'click' ? 1 : null, whole[name]]] as const]),
        ),
      ),
    },
    {
      file: 'part-0.json',
      data: `{"click":1}\n${JSON.stringify(whole)}`,
      beside: { 'reader.ts': READER },
    },
    {
      file: 'part-0.json',
      data: `${JSON.stringify({ click: 1, price: '', age: '', city: '', item: '', seen: '' })}\n${JSON.stringify(whole)}`,
      beside: { 'reader.ts': READER },
    },
  ]
  const found: Columns[] = []
  for (const form of forms) {
    const folder = folderOf({ ...form, beside: { ...form.beside, ...cities } }, model(inputs))
    found.push(await columnsOf(folder))
  }
  const [first, ...others] = found.map(({ signs, counts, dense }) => [
    [...signs],
    [...counts],
    dense.map((d) => [...d]),
  ])
  // Above -5, the second word, some bucket of "0", the id 0, and a cross of these.
  expect([first![0]![0], first![0]![1], first![0]![3]]).toEqual([1n, 2n, 0n])
  for (const other of others) expect(other).toEqual(first)
})

describe('a cross of lists that are too long is refused, and told where', () => {
  const inputs = `click: label('click'), price: dense('price', 1), user: sparse('user', ids('|')), item: sparse('item', ids('|')),
    both: cross('user', 'item', { hash: 1e6 }),`
  const many = (count: number) => Array.from({ length: count }, (_, i) => i)
  const failure = (form: Form) =>
    columnsOf(folderOf(form, model(inputs))).then(
      () => '',
      (error: UserError) => formatUserError(error),
    )

  test('in text, by line', async () => {
    const line = (count: number) =>
      `click:1 price:1 ${many(count)
        .map((i) => `user:${i} item:${i}`)
        .join(' ')}`
    expect(await failure({ file: 'part-0.txt', data: `${line(2)}\n${line(5000)}` })).toMatch(
      /part-0\.txt:2:1 The crosses of the model make more than 16777216 signs of this line\.\n {2}Cross slots that have fewer/,
    )
  })

  test('in a table by line, in a reader.ts by sample', async () => {
    const what = 'Slot "user_x_item": more than 16777216 signs, with a sample that has 5000 and 5000 values to cross\\.'
    const fix = '\\n {2}Cross slots that have fewer'
    const row = (count: number) => [1, 1, many(count).join('|'), many(count).join('|')].join(',')
    const lines = ['click,price,user,item', row(100), row(5000)]
    const csv = { file: 'part-0.csv', data: lines.join('\n') }
    expect(await failure(csv)).toMatch(new RegExp(`part-0\\.csv:3 ${what}${fix}`))
    const sample = (count: number) => JSON.stringify({ click: 1, price: 1, user: many(count), item: many(count) })
    const data = [sample(100), sample(5000)].join('\n')
    expect(await failure({ file: 'part-0.json', data, beside: { 'reader.ts': READER } })).toMatch(
      new RegExp(`at sample 2 of .*part-0\\.json: ${what}${fix}`),
    )
  })

  test('in a request', async () => {
    const config = load(folderOf({ file: 'part-0.txt', data: 'click:1 price:1 user:1 item:1' }, model(inputs)))
    const { slots } = await loadModelAs('static', config)
    const parse = createRequestParser(
      slots.map((slot) => ({ ...slot, needed: slot.name !== 'click' })),
      false,
    )
    const instances = [{ price: 1, user: many(5000), item: many(5000) }]
    const body = Buffer.from(JSON.stringify({ instances }))
    expect(() => parse({ kind: 'json', body, answer: 'json' })).toThrow(
      expect.objectContaining({
        code: expect.stringMatching(/^SERVE_/),
        message: expect.stringContaining('user_x_item'),
      }),
    )
  })
})

describe('an export', () => {
  const folder = folderOf(FORMS.CSV)
  const out = join(folder, 'out')
  test('scores raw records as the trainer does, in the server and in Python', async () => {
    const config = load(folder)
    await train({ config, emit: quiet })
    const manifest = await exportCheckpoint({ config, out, emit: quiet })
    expect(manifest.slots.find(({ name }) => name === 'age')).toMatchObject({
      feature: { kind: 'bucketise', from: 'age', boundaries: [18, 25, 35] },
    })
    const scorer = await Scorer.open(await openExport(out))
    const trained = await scorer.score(await columnsOf(folder))
    const raw = RECORDS.map(({ click: _, ...own }) => own)
    const parse = createRequestParser(scorer.manifest.slots, false)
    const body = Buffer.from(JSON.stringify({ instances: raw }))
    const served = await scorer.score(parse({ kind: 'json', body, answer: 'json' }).columns)
    expect([...served.scores]).toEqual([...trained.scores])
    const own = readFileSync(join(out, 'samples.json'))
    const { instances: given, scores } = JSON.parse(own.toString())
    expect(given[1]).toEqual({ age: ['18'], price: [1.5], city: ['101'], item: ['7'], user: ['1'] })
    const again = await scorer.score(parse({ kind: 'json', body: own, answer: 'json' }).columns)
    expect([...again.scores].map((score) => Number(score.toFixed(6)))).toEqual(
      scores.map((score: number) => Number(score.toFixed(6))),
    )
    const text = Buffer.from(TEXT.replaceAll(/click:\d /g, ''))
    const lines = await scorer.score(parse({ kind: 'text', body: text, answer: 'json' }).columns)
    expect([...lines.scores]).toEqual([...trained.scores])
    await scorer.close()

    writeFileSync(join(folder, 'raw.json'), JSON.stringify({ instances: raw }))
    const features = fileURLToPath(new URL('../../python/oarfish_features.py', import.meta.url))
    const printed = execFileSync('python3', [features, out, join(folder, 'raw.json')], { encoding: 'utf8' })
    const { instances } = JSON.parse(printed) as { instances: Record<string, string[]>[] }
    const columns = await columnsOf(folder)
    for (const [i, instance] of instances.entries())
      expect(SPARSE.map((slot) => Number(instance[slot]![0]))).toEqual(SPARSE.map((slot) => signOf(columns, i, slot)))
    expect(instances.map(({ price }) => Math.fround(Number(price![0])))).toEqual([...columns.dense[1]!])
  })

  test('a request without a raw field is refused by that name, one with a wrong value too', () => {
    const { slots } = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'))
    const parse = createRequestParser(slots, false)
    const asked = (instance: object) => () =>
      parse({ kind: 'json', body: Buffer.from(JSON.stringify([instance])), answer: 'json' })
    const { click: _, ...good } = RECORDS[0]!
    const { user: __, ...less } = good
    expect(asked(less)).toThrow(/user/)
    expect(asked({ ...good, age: 'old' })).toThrow(/"age": bucketise needs a number, found "old"/)
    expect(asked({ ...good, nation: 3 })().ignored).toEqual(['nation'])
  })
})

test.each(Object.entries(FORMS))('diff scores raw records by trainer and server alike: %s', async (_, form) => {
  const folder = folderOf(form)
  const config = load(folder)
  const out = join(folder, 'out')
  await train({ config, emit: quiet })
  await exportCheckpoint({ config, out, emit: quiet })
  const same = await diff({ config, model: out, rows: 50, emit: quiet })
  expect(same.rows).toBe(50)
  expect(same.largest).toBeLessThan(1e-6) // the graph of an export adds up in another order
})

describe('what does not fit is refused where it stands', () => {
  const refusal = async (inputs: string, csv = CSV) => {
    const folder = folderOf(
      { file: 'part-0.csv', data: csv },
      model(`click: label('click'), price: dense('price', 1), ${inputs}`),
    )
    const error = await (async () => train({ config: load(folder), emit: quiet }))().then(
      () => expect.fail('it was trained'),
      (error: UserError) => error,
    )
    return formatUserError(error).replaceAll(/\S*oarfish-features-\w+\/job-\w+\//g, '')
  }
  test.each([
    [
      "a: sparse('age', bucketise([18, 35, 25]))",
      /model\.ts:5.*bucketise: boundaries are not ascending.*25 is not above 35/s,
    ],
    ["a: sparse('age', bucketise([]))", /model\.ts:5.*not ascending numbers: \[\]/s],
    ["a: sparse('city', vocabulary('none.txt'))", /model\.ts:5.*none\.txt cannot be read \(ENOENT\)/s],
    [
      "u: sparse('user'), a: cross('usr', 'user', { hash: 10 })",
      /model\.ts:5.*no sparse input "usr".*Did you mean user\?/s,
    ],
    ["u: sparse('user'), a: cross('user', 'price', { hash: 10 })", /no sparse input "price"/],
    ["a: sparse('user', hash(0))", /model\.ts:5.*buckets is 0/s],
    ["a: sparse('user', ids(''))", /model\.ts:5.*split is ""/s],
    ["a: sparse('user', hash(10, { form: 'x' } as never))", /no option "form".*Did you mean from/s],
  ])('%s', async (inputs, expected) => {
    expect(await refusal(inputs)).toMatch(expected)
  })

  test('text where a number is needed, with its line', async () => {
    const csv = 'click,price,age\n1,2,30\n0,3,old\n'
    expect(await refusal("a: sparse('age', bucketise([18]))", csv)).toMatch(
      /part-0\.csv:3 .*"age": bucketise needs a number, found "old"/s,
    )
  })
})
