import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accessorRow, writeWeights } from '../../base/kernel/index.ts'
import { type OptimizerSpec, optimizer, stepFactors } from '../optim/index.ts'
import { createLocalParams, LocalParams } from './local.ts'
import { loadPaddleModel, savePaddleModel } from './paddle-model.ts'
import { encodeVar } from './paddle-vars.ts'

const WRITTEN = fileURLToPath(new URL('../../../test/paddle-files/', import.meta.url))
const sizes = [23, 8, 4, 2]
const parameter = (name: string, shape: readonly number[]) => ({
  ...({ name, shape, dtype: 'float32', value: 0, init: { kind: 'zeros' } } as const),
})
const program = {
  ...{ feeds: [], rows: [], nodes: [], fetches: [], state: [] },
  parameters: sizes
    .slice(1)
    .flatMap((out, i) => [parameter(`fc.${i}.weight`, [sizes[i]!, out]), parameter(`fc.${i}.bias`, [out])]),
  tables: [{ name: 'embedding', dim: 5, init: { kind: 'uniform', low: -1, high: 1 } as const }],
}
const rule = (name: string) => ({ embed_sgd_param: { name }, embedx_sgd_param: { name } })
const accessor = (name: string, more: object = {}) => ({ embedding: { accessor: { ...rule(name), ...more } } }) as never
const open = (spec: OptimizerSpec = optimizer.adam({ lazy: true }), tableParameters = {}) =>
  new LocalParams(createLocalParams({ program, optimizer: spec, tableParameters, seed: 1, threads: 1, segments: 2 }), 0)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-paddle-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Lines of a table's files, sorted. */
async function linesOf(path: string): Promise<string[]> {
  const names = (await readdir(path)).filter((name) => name.startsWith('part-'))
  const texts = await Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(join(path, name))
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
    }),
  )
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line !== '')
    .sort()
}

/** As numbers: six digits of Paddle's text say no more. */
const numbers = (lines: readonly string[]) =>
  lines.map((line) => [
    line.split(' ')[0],
    ...line
      .trim()
      .split(/\s+/)
      .slice(1)
      .map((text) => Math.fround(Number(text))),
  ])

describe('tables that PaddlePaddle 2.6.2 wrote', () => {
  test.each([
    ['adagrad', accessor('SparseAdaGradSGDRule'), 578],
    ['adam', accessor('SparseAdamSGDRule', { embedx_threshold: 3 }), 150],
  ])('%s: every value is read, and written again as it was', async (name, parameters, rows) => {
    const params = open(optimizer.adam({ lazy: true }), parameters)
    expect(await loadPaddleModel(params, { folder: join(WRITTEN, name) })).toBe(rows)
    const again = join(folder, `again-${name}`)
    expect(await savePaddleModel(params, { folder: again, servers: 2, shards: 10 })).toBe(rows)
    const names = async (path: string) => (await readdir(path)).sort()
    expect(await names(join(again, '000'))).toEqual(await names(join(WRITTEN, name, '000')))
    expect(numbers(await linesOf(join(again, '000')))).toEqual(numbers(await linesOf(join(WRITTEN, name, '000'))))
    expect(await names(join(again, '001'))).toEqual(await names(join(WRITTEN, name, '001')))
  })

  test('weights alone go into a table without accessor', async () => {
    const params = open()
    expect(await loadPaddleModel(params, { folder: join(WRITTEN, 'adagrad') })).toBe(578)
    const line = (await linesOf(join(WRITTEN, 'adagrad', '000')))[100]!.trim().split(' ')
    const [sign = '0'] = line
    const row = new Float32Array(5)
    const distinct = { signs: BigUint64Array.of(BigInt(sign)), lengths: Uint32Array.of(0, 0) }
    for (const segment of [0, 1]) {
      distinct.lengths.fill(0)[segment] = 1
      params.tables[0]!.lookup(distinct, row, false, stepFactors(optimizer.adam(), 1))
      if (row[0] === Math.fround(Number(line[6]))) break
    }
    expect([...row]).toEqual([line[6], ...line.slice(8, 12)].map((text) => Math.fround(Number(text))))
  })

  test('dense weights are the same from dnn_plugin and from the dense table', async () => {
    const copy = join(folder, 'no-plugin')
    await cp(join(WRITTEN, 'adagrad'), copy, { recursive: true })
    await rm(join(copy, 'dnn_plugin'), { recursive: true })
    const [named, ordered] = [open(), open()]
    await loadPaddleModel(named, { folder: join(WRITTEN, 'adagrad') })
    await loadPaddleModel(ordered, { folder: copy })
    const weights = (params: LocalParams) => {
      const all = new Float32Array(params.dense.layout.floats)
      params.dense.pull(all)
      return [...all]
    }
    expect(weights(named).some((value) => value !== 0)).toBe(true)
    for (const [i, value] of weights(named).entries()) expect(weights(ordered)[i]).toBeCloseTo(value, 5)
  })
})

describe('our own tables', () => {
  const SPECS: Record<string, OptimizerSpec> = {
    sgd: optimizer.sgd(),
    adagrad: optimizer.adagrad(),
    adam: optimizer.adam({ lazy: true }),
  }
  const inBfloat16 = { embedding: { row_precision: 'bfloat16' } }
  const KEPT = Object.entries(SPECS).flatMap(([name, spec]) => [
    [name, spec, {}] as const,
    [`${name}-bfloat16`, spec, inBfloat16] as const,
  ])
  test.each(KEPT)('%s: text comes back bit for bit, dense weights and state too', async (name, spec, parameters) => {
    const saved = open(spec, parameters)
    const table = saved.tables[0]!
    const random = Float32Array.from(
      { length: 300 * (table.rowBytes / 4) },
      (_, i) => Math.sin(i) * 10 ** ((i % 9) - 6),
    )
    // Half of a word may be no number; weights are.
    const weights = random.slice(0, 300 * table.dim)
    writeWeights(weights, 300, table.weightShape, new Uint8Array(random.buffer))
    // Dim 5 leaves half a word free, which is never written.
    const halves = new Uint16Array(random.buffer)
    if (name.endsWith('16')) for (let i = 0; i < 300; i++) halves[(i * table.rowBytes) / 2 + 5] = 0
    table.load(
      BigUint64Array.from({ length: 300 }, (_, i) => (BigInt(i) * 0x9e3779b97f4a7c15n) & (2n ** 64n - 1n)),
      new Uint8Array(random.buffer),
    )
    const bytes = saved.dense.bytes()
    const { entries, floats } = saved.dense.layout
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    for (let run = 0; run < values.length; run += floats)
      for (const { at, size } of entries) values.fill(Math.cos(run + at), run + at, run + at + size)
    saved.dense.restoreSteps(77)
    const at = join(folder, `own-${name}`)
    await savePaddleModel(saved, { folder: at, shards: 7, compress: false })
    const loaded = open(spec, parameters)
    await loadPaddleModel(loaded, { folder: at })
    expect(loaded.digest()).toBe(saved.digest())
    expect(loaded.dense.steps).toBe(77)
  })

  test('a row of Adam that is not lazy is written with its own moments, its weights as they are by now', async () => {
    const spec = optimizer.adam({ learningRate: 0.1 })
    for (const [name, parameters] of [['float32', {}] as const, ['bfloat16', inBfloat16] as const]) {
      const saved = open(spec, parameters)
      const table = saved.tables[0]!
      const distinct = saved.rows.merger.distinct([BigUint64Array.from({ length: 50 }, (_, i) => BigInt(i))])
      const gradients = Float32Array.from({ length: 250 }, (_, i) => Number(distinct.signs[Math.floor(i / 5)]) + 1)
      table.lookup(distinct, undefined, true, stepFactors(spec, 1))
      table.update(distinct, gradients, stepFactors(spec, 1))
      saved.dense.restoreSteps(1)
      const at = join(folder, `clocked-${name}`)
      await savePaddleModel(saved, { folder: at, shards: 3, compress: false })
      const rows = new Float32Array(250)
      table.lookup(distinct, rows, false, stepFactors(spec, 2))
      for (const line of await linesOf(join(at, '000'))) {
        const [sign = 0, ...values] = line.trim().split(' ').map(Number)
        const i = distinct.signs.indexOf(BigInt(sign))
        // slot, unseen, delta, show, click | weight, m, v, two powers | weights, m, v, two powers
        expect([values[5], ...values.slice(10, 14)].map((x) => Math.fround(x!))).toEqual([
          ...rows.subarray(5 * i, 5 * i + 5),
        ])
        for (const m of [values[6], ...values.slice(14, 18)]) expect(m).toBeCloseTo(0.1 * (sign + 1), 5)
        for (const v of [values[7], ...values.slice(18, 22)]) expect(v).toBeCloseTo(0.001 * (sign + 1) ** 2, 4)
      }
    }
  })

  test.each([
    ['CtrCommonAccessor', 'StdAdaGradSGDRule', 'float32'],
    ['CtrDoubleAccessor', 'SparseAdaGradSGDRule', 'float32'],
    ['SparseAccessor', 'SparseSharedAdamSGDRule', 'float32'],
    ['CtrDoubleAccessor', 'SparseAdamSGDRule', 'bfloat16'],
  ])('%s with %s in %s: text comes back as it was', async (accessor_class, name, row_precision) => {
    const { embedding } = accessor(name, { accessor_class, embedx_threshold: 2 }) as { embedding: object }
    const parameters = { embedding: { ...embedding, row_precision } }
    const saved = open(optimizer.sgd(), parameters)
    const table = saved.tables[0]!
    for (let sign = 0; sign < 200; sign++) {
      const segments = [0, 1].map((segment) => ({
        signs: BigUint64Array.of(BigInt(sign)),
        lengths: Uint32Array.from([0, 1], (s) => (s === segment ? 1 : 0)),
      }))
      for (let time = 0; time < 2; time++)
        table.push(segments[sign % 2]!, {
          ...{ gradients: Float32Array.of(0, 0, 0.1, 0.2, -0.3), samples: 2, step: 1 },
          showClick: Float32Array.of(5, sign / 10, sign % 3),
        })
    }
    const at = join(folder, `${accessor_class}-${name}`)
    const rows = await savePaddleModel(saved, { folder: at, shards: 3 })
    const loaded = open(optimizer.sgd(), parameters)
    expect(await loadPaddleModel(loaded, { folder: at })).toBe(rows)
    const second = join(folder, `${accessor_class}-${name}-2`)
    await savePaddleModel(loaded, { folder: second, shards: 3 })
    expect(await linesOf(join(second, '000'))).toEqual(await linesOf(join(at, '000')))
    const widths = new Set((await linesOf(join(at, '000'))).map((line) => line.split(' ').length))
    const { stats, embedxState } = accessorRow(table.accessor!)
    const row = accessorRow(table.accessor!)
    expect(Math.max(...widths)).toBe(6 + stats - row.embedState + row.weights)
    expect(widths.size).toBe(2)
    expect(embedxState).toBeGreaterThan(0)
  })
})

describe('what is wrong is said', () => {
  const broken = async (
    name: string,
    change: (at: string) => Promise<void>,
    parameters = accessor('SparseAdaGradSGDRule'),
  ) => {
    const at = join(folder, name)
    await cp(join(WRITTEN, 'adagrad'), at, { recursive: true })
    await change(at)
    return loadPaddleModel(open(optimizer.adam(), parameters), { folder: at }).then(
      () => 'no error',
      (error: Error & { code: string }) => `${error.code}: ${error.message}`,
    )
  }

  test('a part file that is missing', async () => {
    expect(await broken('missing', (at) => rm(join(at, '000', 'part-000-00003.gz')))).toMatch(
      /^PADDLE_FILES_MISSING: .*of 10 shards these have no file: part-\*-00003$/,
    )
  })

  test('a file from another number of shards', async () => {
    const said = await broken('shards', (at) => rm(join(at, '000', 'part-001-00009.gz')))
    expect(said).toMatch(/^PADDLE_FILES_SHARDS: sign \d+ is of shard \d of 9, but stands in the file of shard 0$/)
  })

  test('two files of one shard', async () => {
    const said = await broken('twice', (at) =>
      cp(join(at, '000', 'part-000-00003.gz'), join(at, '000', 'part-002-00003.gz')),
    )
    expect(said).toMatch(/shard 3 has two files$/)
  })

  test('a table that is not there', async () => {
    expect(await broken('none', (at) => rename(join(at, '000'), join(at, '007')))).toMatch(
      /^PADDLE_FILES_MISSING: there is no table 000 in /,
    )
  })

  test('another rule', async () => {
    expect(await broken('rule', async () => undefined, accessor('SparseAdamSGDRule'))).toBe(
      'PADDLE_FILES_LINE: this line of a table file cannot be read: it has 12 values where SparseAccessor with SparseAdamSGDRule and SparseAdamSGDRule, embedx_dim 4 has 10 or 24',
    )
  })

  test('a line that is not numbers, a file that is cut off', async () => {
    const put = (content: Uint8Array) => (at: string) => writeFile(join(at, '000', 'part-000-00000.gz'), content)
    expect(await broken('line', put(gzipSync('10 a b\n')))).toContain('it is not a sign and numbers')
    expect(await broken('cut', put(gzipSync('x'.repeat(1000)).subarray(0, 20)))).toMatch(/^PADDLE_FILES_DAMAGED/)
  })

  test('dense weights of another model', async () => {
    const put = (at: string) =>
      writeFile(join(at, 'dnn_plugin', 'linear_4.w_0'), encodeVar({ dims: [4, 3], values: new Float32Array(12) }))
    expect(await broken('dense', put)).toMatch(/linear_4.w_0 has shape \[4, 3\] where fc.2.weight has \[4, 2\]$/)
  })
})
