import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { collect, type PlainSample, randomSamples, SLOTS, testReader } from '../../../test/contracts/reader.ts'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import { openReader, openReaderPool, type ReaderOptions } from '../reader-pool.ts'
import type { PythonReaderOptions } from './python-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-python-'))
afterAll(() => rmSync(folder, { recursive: true }))
const put = (name: string, content: string, dir = folder) => {
  writeFileSync(join(dir, name), content)
  return join(dir, name)
}
const jsonLine = ([[click], a, b, dense]: PlainSample) =>
  JSON.stringify({ click: Number(click), '1': a.map(String), '2': b.map(String), dense_feature: dense })
const jsonReader = fileURLToPath(new URL('../../../test/fixtures/python/json_reader.py', import.meta.url))
const reader = (path: string, over: Partial<PythonReaderOptions> = {}) => ({
  python: { path, dir: folder, yaml: join(folder, 'config.yaml'), cwd: folder, config: {}, ...over },
})
const form = (config: Record<string, unknown>) => ({
  write: (dir: string, name: string, samples: readonly PlainSample[]) =>
    put(name, samples.map((sample) => `${jsonLine(sample)}\n`).join(''), dir),
  writeBroken: (dir: string, name: string, samples: readonly PlainSample[]) =>
    put(
      name,
      `${[...samples.map(jsonLine), '{"click": 0, "1": [-5], "2": [1], "dense_feature": [1, 2, 3]}'].join('\n')}\n`,
      dir,
    ),
  options: reader(jsonReader, { config }),
  withChecksum: true,
  cutByTime: true,
})

testReader({ name: 'a Python reader of arrays', ...form({}) })
testReader({ name: 'a Python reader of dicts', ...form({ 'hyper_parameters.as_dict': true }) })

const samples = randomSamples(20)
const data = put('data', samples.map((sample) => `${jsonLine(sample)}\n`).join(''))
const read = (
  path: string,
  { over, ...options }: Partial<ReaderOptions> & { over?: Partial<PythonReaderOptions> } = {},
) => openReader({ files: [data], slots: SLOTS, batchSize: 4, threads: 1, epoch: 0, ...reader(path, over), ...options })
const samplesIn = async (...args: Parameters<typeof read>) =>
  (await collect(read(...args))).flatMap((batch) => batch.samples)
async function errorOf(...args: Parameters<typeof read>): Promise<string> {
  const error = await samplesIn(...args).catch((thrown: unknown) => thrown)
  if (!isUserError(error)) throw error ?? new Error('expected an error')
  return formatUserError(error).replaceAll(`${folder}/`, '')
}
async function* only<T>(item: T): AsyncIterable<T> {
  yield item
}
let readers = 0
/** A reader whose __iter__ has this body. */
const rec = (...body: readonly string[]) =>
  put(
    `reader_${readers++}.py`,
    [
      'import numpy as np',
      'from paddle.io import IterableDataset',
      'class RecDataset(IterableDataset):',
      '    def __init__(self, file_list, config):',
      '        self.file_list = file_list',
      '        self.config = config',
      '    def __iter__(self):',
      ...body.map((line) => `        ${line}`),
      '',
    ].join('\n'),
  )
const SAMPLE = '[np.array([1]), np.array([5]), np.array([6, 7]), np.array([0.5, 1, 2]).astype("float32")]'

describe('a Python reader', () => {
  test('that raises is told with its own traceback, file and line, and the samples before it count', async () => {
    const path = rec('for i in range(5):', `    yield ${SAMPLE}`, 'self.helper()', 'def helper(self):').replace(
      'x',
      'x',
    )
    writeFileSync(
      path,
      `${readFileSync(path, 'utf8').replace('        def helper', '    def helper')}        return 1 // 0\n`,
    )
    const seen: number[] = []
    const reading = (async () => {
      for await (const batch of read(path)) seen.push(batch.size)
    })()
    const error = await reading.catch((thrown) => thrown)
    const text = formatUserError(error).replaceAll(`${folder}/`, '')
    expect(seen).toEqual([4])
    expect(text).toMatch(/^reader_\d+\.py:12 The Python reader failed at sample 6 of data: ZeroDivisionError/)
    expect(text).toMatch(/Traceback \(most recent call last\):\n +File "reader_\d+\.py", line 10, in __iter__/)
    expect(text).not.toMatch(/oarfish_/)
  })

  test.each([
    [
      'yield [np.array([1])]',
      /sample 1 of data: a sample has 1 fields, the model has 4 slots: "click", "1", "2", "dense_feature"\./,
    ],
    [
      'yield {"click": 1, "1": 2, "dense_feature": [1, 2, 3]}',
      /sample 1 of data: the sample lacks "2"; it has "1", "click", "dense_feature"\./,
    ],
    ['yield [1, 2, [], [1, 2, 3]]', /slot "2": the number of ids can not be zero, you need padding/],
    ['yield [1, 2, 3, [1, 2]]', /slot "dense_feature": expected 3 values, found 2/],
    [
      'yield [1, 2.5, 3, [1, 2, 3]]',
      /slot "1": expected ids \(whole numbers from 0 to 18446744073709551615\), found 2\.5/,
    ],
    ['yield [1, 2, 3, [1, 2, float("nan")]]', /slot "dense_feature": expected a finite 32-bit number, found NaN/],
    ['yield [1, "x", 3, [1, 2, 3]]', /slot "1": expected numbers, found 'x'/],
  ])('whose sample does not fit is refused with names: %s', async (line, message) => {
    expect(await errorOf(rec(line))).toMatch(message)
  })

  test('gives numbers of every size as they are', async () => {
    const path = rec('yield [-3, 2**64 - 1, [2**63, 0], [1, 0.25, 3]]', 'yield [4, 7, [8, 9], (0, 0, 1e-3)]')
    expect(await samplesIn(path)).toEqual([
      [[-3n], [2n ** 64n - 1n], [2n ** 63n, 0n], [1, 0.25, 3]],
      [[4n], [7n], [8n, 9n], [0, 0, Math.fround(1e-3)]],
    ])
  })

  test('gives arrays whose types and lengths change from sample to sample, and keeps nothing of one it refuses', async () => {
    const dense = 'np.array([0.5, 1, 2]).astype("float32")'
    const path = rec(
      `yield [np.array([1]), np.array([5]), np.array([6, 7]), ${dense}]`,
      `yield (np.array([-1]), np.array([2**64 - 1]), np.array([8]), ${dense})`,
      `yield [np.array([2]), np.array([3]), np.array([4]), np.array([1, 2, 3])]`,
      `yield [np.array([2]), np.array([3]), np.array([4]), np.array([0.25, 2, 3])]`,
      `yield [[2], 3, np.array([[4], [9]]), (1, 2, 3)]`,
      `yield [np.array([3]), np.array([3]), np.array([4]), ${dense}]`,
      `yield [np.array([4]), np.array([3]), np.array(["x"]), ${dense}]`,
    )
    const seen: unknown[] = []
    const reading = (async () => {
      for await (const batch of read(path, { batchSize: 1 })) seen.push(...(await collect(only(batch)))[0]!.samples)
    })()
    const error = formatUserError(await reading.catch((thrown) => thrown)).replaceAll(`${folder}/`, '')
    expect(seen).toEqual([
      [[1n], [5n], [6n, 7n], [0.5, 1, 2]],
      [[-1n], [2n ** 64n - 1n], [8n], [0.5, 1, 2]],
      [[2n], [3n], [4n], [1, 2, 3]],
      [[2n], [3n], [4n], [0.25, 2, 3]],
      [[2n], [3n], [4n, 9n], [1, 2, 3]],
      [[3n], [3n], [4n], [0.5, 1, 2]],
    ])
    expect(error).toMatch(/sample 7 of data: slot "2": expected numbers, found/)
  })

  test('gives arrays of numbers of every kind as they are, and refuses one that has no type', async () => {
    const dense = 'np.concatenate([np.array([0.5]), np.array([1, 2**40])])'
    const path = rec(
      `yield [np.array([-2**63]), np.array([2**31, 2**62]), np.array([True, 3]), ${dense}]`,
      `yield [np.array([np.int64(7)]), np.array([2**31 - 1]), np.array([np.int64(2**40)]), ${dense}]`,
      `yield [np.array([2**31]), np.array([2**63]), np.array([4]), ${dense}]`,
    )
    expect(await samplesIn(path)).toEqual([
      [[-(2n ** 63n)], [2n ** 31n, 2n ** 62n], [1n, 3n], [0.5, 1, 2 ** 40]],
      [[7n], [2n ** 31n - 1n], [2n ** 40n], [0.5, 1, 2 ** 40]],
      [[2n ** 31n], [2n ** 63n], [4n], [0.5, 1, 2 ** 40]],
    ])
    for (const number of ['2**64', '-2**63 - 1', '2**70'])
      expect(await errorOf(rec(`yield ${SAMPLE}`, `yield [np.array([${number}])] + ${SAMPLE}[1:]`))).toMatch(
        /sample 2 of data: slot "click": .*\d{19}/,
      )
  })

  test('may be a Dataset, a Reader with dataloader, or a Reader of lines', async () => {
    const expected = [1, 2, 3].map((i) => [[BigInt(i)], [5n], [6n], [0, 0, 1]])
    const head =
      'import numpy as np\nimport paddle\nfrom paddle.io import Dataset\nimport paddle.distributed.fleet as fleet\n'
    const kinds = [
      `class RecDataset(Dataset):
    def __init__(self, file_list, config): self.n = 3
    def __len__(self): return self.n
    def __getitem__(self, i): return i + 1, [5], np.array([[6]]), np.array([0, 0, 1.0])`,
      `class Reader(fleet.MultiSlotDataGenerator):
    def init(self, config): self.last = config["hyper_parameters.last"]
    def dataloader(self, file_list):
        def reader():
            for file in file_list:
                for i in (1, 2, self.last): yield [[i], [5], [6], [0.0, 0.0, 1.0]]
        return reader`,
      `class Reader(fleet.MultiSlotDataGenerator):
    def init(self, config): self.seen = 0
    def generate_sample(self, line):
        def reader():
            self.seen += 1
            if self.seen <= 3:
                yield [("click", [self.seen]), ("1", [5]), ("2", [6]), ("dense_feature", [0.0, 0.0, 1.0])]
        return reader`,
    ]
    for (const kind of kinds) {
      const path = put(`kind_${readers++}.py`, `${head}\n${kind}\n`)
      expect(await samplesIn(path, { over: { config: { 'hyper_parameters.last': 3 } } }), kind).toEqual(expected)
    }
  })

  test('is given all its files at once where it keeps something between them, and that is said once', async () => {
    const files = [0, 1, 2].map((i) => put(`small-${i}`, '{}\n'))
    const path = rec('n = len(self.file_list)', `for i in range(n): yield [n, 5, 6, [0, 0, 1]]`)
    const said: string[] = []
    const pool = openReaderPool({ slots: SLOTS, threads: 2, ...reader(path, { together: true }) })
    try {
      const chunks: unknown[] = []
      const onChunk = (...chunk: number[]) => chunks.push(chunk)
      const pass = { files, batchSize: 8, onNotice: (text: string) => said.push(text), onChunk }
      for (const epoch of [0, 1]) {
        const found = (await collect(pool.read({ ...pass, epoch }))).flatMap((batch) => batch.samples)
        expect(found.map(([click]) => click)).toEqual([[3n], [3n], [3n]])
      }
      expect(chunks.slice(0, 3)).toEqual([
        [0, 3, 3],
        [1, 3, 0],
        [2, 3, 0],
      ])
      expect(said).toHaveLength(1)
      expect(said[0]).toMatch(/^All 3 files are given to the Python reader at once.*runner\.reader_files: each/)
      // One of two workers has its block of them.
      const block = await collect(pool.read({ ...pass, epoch: 0, part: { index: 0, count: 2 } }))
      expect(block.flatMap((batch) => batch.samples).map(([click]) => click)).toEqual([[2n], [2n]])
    } finally {
      await pool.close()
    }
  })

  test('draws the same numbers in every run, whatever the number of processes, and others in another epoch', async () => {
    const files = [0, 1, 2, 3].map((i) => put(`draw-${i}`, '{}\n'))
    const path = rec(
      'import random',
      'for file in self.file_list:',
      '    yield [random.randrange(10**9), 5, 6, [0, 0, 1]]',
    )
    const [one, three, other] = await Promise.all([
      samplesIn(path, { files, threads: 1 }),
      samplesIn(path, { files, threads: 3 }),
      samplesIn(path, { files, threads: 2, epoch: 1 }),
    ])
    expect(new Set(one.map(String)).size).toBe(4)
    expect(three).toEqual(one)
    expect(other).not.toEqual(one)
  })

  test('that dies, or cannot be loaded, is told as what it is', async () => {
    expect(await errorOf(rec('import os', `yield ${SAMPLE}`, 'os.kill(os.getpid(), 9)'))).toMatch(
      /was ended by SIGKILL, while it read data\.[\s\S]*memory runs out/,
    )
    expect(await errorOf(rec('import sys', 'sys.stderr.write("oh dear\\n")', 'import os', 'os._exit(3)'))).toMatch(
      /ended with exit status 3[\s\S]*oh dear/,
    )
    expect(await errorOf(put('broken.py', 'def x(:\n'))).toMatch(
      /^broken\.py:1 The Python reader failed when it was loaded: SyntaxError/,
    )
    expect(await errorOf(put('missing.py', 'import nowhere_to_be_found\n'))).toMatch(
      /No module named 'nowhere_to_be_found'[\s\S]*pip install nowhere_to_be_found, or write the reader as reader\.ts/,
    )
    expect(await errorOf(put('empty.py', 'class Other: pass\n'))).toMatch(
      /has no class RecDataset \(or Reader\); it has Other/,
    )
  })

  test('leaves no process behind, neither when it is left early nor when it has ended', async () => {
    const running = () => {
      const { stdout } = spawnSync('pgrep', ['-f', 'oarfish_reader.py', '-P', String(process.pid)], {
        encoding: 'utf8',
      })
      return stdout.split('\n').filter(Boolean).length
    }
    const endless = rec('for i in range(10**9):', `    yield ${SAMPLE}`)
    for (const path of [endless, rec(`yield ${SAMPLE}`)]) {
      const pool = openReaderPool({ slots: SLOTS, threads: 2, ...reader(path) })
      for await (const batch of pool.read({ files: [data, data], batchSize: 1, epoch: 0 }))
        if (path === endless || batch.index === 1) break
      if (path !== endless) expect(running()).toBeGreaterThan(0)
      await pool.close()
      expect(running()).toBe(0)
    }
  })
})
