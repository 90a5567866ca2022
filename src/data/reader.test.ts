import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import {
  collect,
  type PlainSample,
  type ReaderForm,
  randomSamples,
  SLOTS,
  testReader,
} from '../../test/contracts/reader.ts'
import { formatUserError, isUserError } from '../base/util/index.ts'
import type { BatchReader } from './reader.ts'
import { openReader, openReaderPool, type ReaderOptions } from './reader-pool.ts'

const slotLine = ([[click], a, b, dense]: PlainSample) =>
  [
    `click:${click}`,
    ...a.map((v) => `1:${v}`),
    ...b.map((v) => `2:${v}`),
    ...dense.map((v) => `dense_feature:${v}`),
  ].join(' ')
const multiSlotLine = ([[click], a, b, dense]: PlainSample) =>
  [1, click, a.length, ...a, b.length, ...b, 3, ...dense].join(' ')
const jsonLine = ([[click], a, b, dense]: PlainSample) =>
  JSON.stringify({ click: Number(click), '1': a.map(String), '2': b.map(String), dense_feature: dense })

/** A form of input that is one line a sample. */
function lines(
  line: (sample: PlainSample) => string,
  broken: string,
  encode = (text: string): string | Buffer => text,
  suffix = '',
) {
  const put = (folder: string, name: string, text: string) => {
    writeFileSync(join(folder, name + suffix), encode(text))
    return join(folder, name + suffix)
  }
  return {
    write: (folder, name, samples) => put(folder, name, samples.map((sample) => `${line(sample)}\n`).join('')),
    writeBroken: (folder, name, samples) =>
      put(folder, name, [...samples.map(line), broken, line(samples[0]!)].join('\n')),
  } satisfies Partial<ReaderForm>
}
const jsonReader = (config: object) => ({
  userReader: { path: fileURLToPath(new URL('../../test/fixtures/json-reader.ts', import.meta.url)), config },
})

testReader({ name: 'slot text', ...lines(slotLine, 'click:0 1:-5') })
testReader({ name: 'MultiSlot text', ...lines(multiSlotLine, '1 0 0') })
testReader({ name: 'gzip of slot text', ...lines(slotLine, 'click:x', gzipSync, '.gz') })
testReader({ name: 'a user reader of objects', ...lines(jsonLine, '{"click":-1.5}'), options: jsonReader({}) })
testReader({
  name: 'a user reader of arrays',
  ...lines(jsonLine, '{"click":[1]}'),
  options: jsonReader({ asArray: true }),
})

const folder = mkdtempSync(join(tmpdir(), 'oarfish-data-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
function fileOf(content: string | Uint8Array, suffix = ''): string {
  const path = join(folder, `file-${files++}${suffix}`)
  writeFileSync(path, content)
  return path
}
const read = (file: string | readonly string[], options: Partial<ReaderOptions> = {}) =>
  openReader({ files: [file].flat(), slots: SLOTS, batchSize: 4, threads: 1, epoch: 0, ...options })
const samplesIn = async (...args: Parameters<typeof read>) =>
  (await collect(read(...args))).flatMap(({ samples }) => samples)
async function errorOf(...args: Parameters<typeof read>): Promise<string> {
  try {
    await samplesIn(...args)
  } catch (error) {
    if (isUserError(error)) return formatUserError(error).replaceAll(`${folder}/`, '')
    throw error
  }
  throw new Error('expected an error')
}

describe('text', () => {
  test('lines are owned by the range they start in, whatever its size', async () => {
    const samples = randomSamples(10)
    const text = `\n${samples.map(slotLine).join('\n\r\n')}`
    for (const chunkBytes of [1, 2, 3, 50, 97, 98, 99, 10_000]) {
      expect(await samplesIn(fileOf(text), { chunkBytes })).toEqual(samples)
    }
  })

  test('a line longer than the reader thread expects is read whole', async () => {
    const ids = Array.from({ length: 400_000 }, (_, i) => BigInt(i))
    const long: PlainSample = [[1n], ids, [5n], [1, 2, 3]]
    const samples = [...randomSamples(3), long, ...randomSamples(3)]
    const text = samples.map(slotLine).join('\n')
    const [plain, gzip] = [fileOf(text), fileOf(gzipSync(text), '.gz')]
    for (const file of [plain, gzip]) {
      const found = await samplesIn(file)
      expect(found).toHaveLength(7)
      expect(found[3]![1].length).toBe(400_000)
      expect(found[3]![1].at(-1)).toBe(399_999n)
      expect(found[6]).toEqual(samples[6])
    }
  })

  test('a byte order mark is not part of the first slot', async () => {
    const samples = randomSamples(3)
    const text = `\ufeff${samples.map(slotLine).join('\n')}`
    expect(await samplesIn(fileOf(text))).toEqual(samples)
    expect(await samplesIn(fileOf(gzipSync(text), '.gz'))).toEqual(samples)
  })

  test('missing slots are sign 0 and zeros, undeclared ones are named once', async () => {
    const notices: string[] = []
    const file = fileOf('2:7 color:red\ncolor:blue click:1 size:3\n'.repeat(50))
    const samples = await samplesIn(file, { onNotice: (message) => notices.push(message), chunkBytes: 100 })
    expect(samples.slice(0, 2)).toEqual([
      [[0n], [0n], [7n], [0, 0, 0]],
      [[1n], [0n], [0n], [0, 0, 0]],
    ])
    expect(notices.sort()).toEqual([
      'The data has a slot "color" that is not declared: it is left out.',
      'The data has a slot "size" that is not declared: it is left out.',
    ])
  })

  test('ids up to 2^64-1 are kept exactly', async () => {
    const [sample] = await samplesIn(fileOf('click:0 1:18446744073709551615 2:9007199254740993'))
    expect(sample!.slice(0, 3)).toEqual([[0n], [2n ** 64n - 1n], [9007199254740993n]])
  })
})

describe('bad input', () => {
  const cases: [text: string, message: RegExp][] = [
    ['click:0 7', /^file-\d+:1:9 Expected slot:value, found "7"\./],
    ['click:0\n\nclick:0 1:-5 2:3', /^file-\d+:3:11 Slot "1": expected a feature sign, .* found "-5"\./],
    ['click:0 1:18446744073709551616', /:1:11 Slot "1": .*18446744073709551615, found "18446744073709551616"/],
    ['click:0 1:', /:1:11 Slot "1": .* found nothing/],
    ['click:0.5', /:1:7 Slot "click": expected a whole number .* found "0.5"/],
    ['click:0 dense_feature:nan', /:1:23 Slot "dense_feature": expected a finite 32-bit number, found "nan"/],
    ['1:5 dense_feature:1 dense_feature:2', /:1:19 Slot "dense_feature": expected 3 values, found 2/],
    [`1:5 ${'dense_feature:1 '.repeat(5)}`, /:1:19 Slot "dense_feature": expected 3 values, found 5/],
    ['1:5 grün:ä 2:x', /:1:14 Slot "2"/],
    [
      '1 0 1 5 0 3 1 1 1',
      /:1:9 Slot 3 \("2"\): expected the number of its values, found "0".*can not be zero, you need padding/,
    ],
    ['1 0 1 5 1 6 2 1 1', /:1:13 Slot "dense_feature": expected 3 values, found 2/],
    ['1 0 2 5', /:1:8 The line ends in slot 2 \("1"\), after 1 value of it/],
    ['1 0 1 5 1 6 3 1 1 1 1 9', /:1:21 Expected the end of the line after the last slot, found "1 9"/],
  ]
  test.each(cases)('%j', async (text, message) => {
    const said = await errorOf(fileOf(text))
    expect(said).toMatch(message)
    expect(said).toMatch('runner.on_bad_line: skip')
  })

  test('the line number counts over the whole file, in ranges and in gzip', async () => {
    const text = `${'click:0\r\n\n'.repeat(5000)}click:bad\nclick:1\n`
    for (const file of [fileOf(text), fileOf(gzipSync(text), '.gz')]) {
      expect(await errorOf(file, { chunkBytes: 3000 })).toMatch(/:10001:7 Slot "click"/)
    }
  })

  test('bad lines are counted and left out under skip', async () => {
    const notices: string[] = []
    const text = 'click:1\nclick:x\n1:-1\nclick:0\n'.repeat(100)
    const samples = await samplesIn(fileOf(text), {
      onBadLine: 'skip',
      chunkBytes: 77,
      onNotice: (m) => notices.push(m),
    })
    expect(samples).toHaveLength(200)
    expect(notices).toEqual(['200 lines could not be parsed and were left out (runner.on_bad_line: skip).'])
  })

  test('a file in the other format says what it looks like', async () => {
    const slot = fileOf('click:1 1:5\n')
    expect(await errorOf([slot, fileOf('1 0 1 5 1 6 3 1 1 1')])).toMatch(/This line looks like MultiSlot text/)
    expect(await errorOf(slot, { format: 'multislot' })).toMatch(/This line looks like slot text/)
  })

  test('a damaged or cut-off gzip file is an error that names it, after its whole batches', async () => {
    const whole = gzipSync(randomSamples(5000).map(slotLine).join('\n'))
    expect(await errorOf(fileOf(whole.subarray(0, whole.length / 2), '.gz'))).toMatch(
      /^file-\d+\.gz The gzip file is damaged or cut off/,
    )
    const damaged = Buffer.from(whole)
    damaged.fill(0xff, 20_000, 20_100)
    expect(await errorOf(fileOf(damaged, '.gz'))).toMatch(/damaged or cut off/)
    expect(await errorOf(fileOf('click:1\n', '.gz'))).toMatch(/damaged or cut off/)
  })

  test('an empty file is told, nothing but empty files is an error', async () => {
    const notices: string[] = []
    const empty = fileOf('')
    expect(await samplesIn([empty, fileOf('click:1\n')], { onNotice: (m) => notices.push(m) })).toHaveLength(1)
    expect(notices).toEqual([`${empty} is empty.`])
    expect(() => read(empty)).toThrow('All 1 data files are empty.')
    expect(() => read([])).toThrow('There are no data files to read.')
  })
})

describe('a reader', () => {
  const slot = { kind: 'sparse', name: 'a' } as const

  test('refuses slots that could not be filled', () => {
    const file = fileOf('a:1\n')
    expect(() => read(file, { slots: [slot, slot] })).toThrow('Slot "a" is declared twice.')
    expect(() => read(file, { slots: [{ ...slot, name: 'a:b' }] })).toThrow('Slot "a:b" cannot be named in text.')
    expect(() => read(file, { slots: [{ kind: 'dense', name: 'x', width: 0, dtype: 'float32' }] })).toThrow(
      'has 0 values',
    )
  })

  test('whose pool is closed meanwhile fails instead of waiting forever', async () => {
    const pool = openReaderPool({ slots: [slot], threads: 1 })
    const reader = pool.read({ files: [fileOf('a:1\n'.repeat(100_000))], batchSize: 10, epoch: 0, chunkBytes: 1000 })
    const reading = collectSizes(reader, () => void pool.close())
    await expect(reading).rejects.toThrow('The reader pool was closed while its input was being read.')
  })

  test('that is closed meanwhile ends', async () => {
    const pool = openReaderPool({ slots: [slot], threads: 1 })
    const reader = pool.read({ files: [fileOf('a:1\n'.repeat(100_000))], batchSize: 10, epoch: 0, chunkBytes: 1000 })
    await collectSizes(reader, () => void reader.close())
    await pool.close()
  })

  async function collectSizes(reader: BatchReader, onFirst: () => void) {
    for await (const { index } of reader) if (index === 0) onFirst()
  }
})

describe('a user reader', () => {
  const json = (samples: readonly PlainSample[], ...more: string[]) =>
    fileOf([...samples.map(jsonLine), ...more].join('\n'))

  test('that throws is reported with its own stack and the sample', async () => {
    const said = await errorOf(json(randomSamples(3), 'throw'), jsonReader({}))
    expect(said).toMatch(
      /json-reader\.ts:\d+ RecDataset failed at sample 3 of file-\d+: Error: the user made a mistake\n +at .*json-reader\.ts/,
    )
  })

  test('that ends its thread rejects the iteration instead of hanging', async () => {
    await expect(samplesIn(json(randomSamples(3), 'exit'), jsonReader({}))).rejects.toThrow(
      /Reader thread \d stopped unexpectedly/,
    )
  })

  test('is told about numbers that lost digits, missing classes and undeclared names', async () => {
    const large = fileOf('{"click":0,"1":[12345678901234567890]}')
    expect(await errorOf(large, jsonReader({}))).toMatch(
      /Slot "1": 12345678901234567000 is above 2\^53: give it as a bigint or as text/,
    )
    const other = fileOf('export const x = 1', '.ts')
    expect(await errorOf(large, { userReader: { path: other, config: {} } })).toMatch(
      /does not export a class RecDataset/,
    )
    const notices: string[] = []
    const color = fileOf('{"click":0,"1":[1],"2":[2],"dense_feature":[1,2,3],"color":3}')
    await samplesIn(color, { ...jsonReader({}), onNotice: (m) => notices.push(m) })
    expect(notices).toEqual(['The data has a slot "color" that is not declared: it is left out.'])
  })

  test('that cuts long sequences has them counted over all files, and said once', async () => {
    const own = fileOf(
      `import { BaseRecDataset } from '${new URL('../index.ts', import.meta.url).pathname}'
      export class RecDataset extends BaseRecDataset {
        async *[Symbol.asyncIterator]() {
          for await (const line of this.lines())
            yield { click: 0, 1: this.latest(line.split(' '), 2), 2: [1], dense_feature: [1, 2, 3] }
        }
      }`,
      '.ts',
    )
    const notices: string[] = []
    const files = [fileOf('1 2 3\n4 5\n'), fileOf('6 7 8 9\n')]
    const samples = await samplesIn(files, {
      userReader: { path: own, config: {} },
      onNotice: (m) => notices.push(m),
    })
    expect(samples).toHaveLength(3)
    expect(notices).toEqual([
      'Of the sequences, 2 of 3 are longer than 2: the last 2 of each are read, what came before is left out. A larger length in hyper_parameters reads more of them.',
    ])
  })

  test('that never gives a slot is refused with the nearest name, unless the slot need not be there', async () => {
    const lines = '{"click":0,"1":[1],"dense_feature":[1,2,3],"dens_feature":[1,2,3]}\n'.repeat(3)
    const file = fileOf(lines)
    expect(await errorOf(file, jsonReader({}))).toMatch(
      /The model declares "2", which none of its first 3 samples has; not declared, but there: "dens_feature"\./,
    )
    const slots = SLOTS.map((slot) => (slot.name === '2' ? { ...slot, required: false } : slot))
    expect(await samplesIn(file, { ...jsonReader({}), slots })).toHaveLength(3)
  })

  test('runs only a bounded way ahead of a slow consumer', async () => {
    const progress = fileOf('')
    const file = json(Array.from({ length: 30 }, () => randomSamples(1000)).flat())
    const reader = read(file, { ...jsonReader({ progress }), threads: 1 })
    for await (const batch of reader) {
      expect(batch.index).toBe(0)
      // Four parts of 2048 samples, of 30,000.
      await expect.poll(() => statSync(progress).size).toBe(4 * 2048)
      await setTimeout(400)
      expect(statSync(progress).size).toBe(4 * 2048)
      break
    }
    expect(readFileSync(progress, 'utf8').length).toBeLessThanOrEqual(5 * 2048)
  })
})
