/** @file predict, serve and diff with a model's own reader.ts and raw records; what a server says of itself. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { type Served, serve } from '../../src/inference/serve/index.ts'
import { openPredictor } from '../../src/library/index.ts'
import { exportCheckpoint, train } from '../../src/training/driver/index.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

const folder = mkdtempSync(join(tmpdir(), 'oarfish-own-reader-'))
const out = join(folder, 'out')
const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const quiet = () => undefined

const MODEL = `import { defineModel, metric, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
export default defineModel({
  inputs: ({ label, sparse, dense, bucketise, hash, cross }) => ({
    click: label('click'), age: sparse('age', bucketise([18, 25, 35])), city: sparse('city', hash(100)),
    both: cross('age', 'city', { hash: 1000 }), x: dense('x', 2),
  }),
  net({ click, age, city, both, x }) {
    const rows = nn.embedding([age, city, both], { name: 'rows', dim: 4 })
    const logit = nn.linear(nn.concat([rows, x], 1), { name: 'fc', out: 1 })
    return { loss: nn.mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: nn.sigmoid(logit) } }
  },
  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),
  optimizer: optimizer.adam({ learningRate: 0.05 }),
})
`
const READER = `import { BaseRecDataset } from 'oarfish'
export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator]() {
    for await (const line of this.lines()) {
      const [click, age, city, a, b] = line.split(';')
      yield { click: Number(click), age: Number(age), city, x: [Number(a), Number(b)] }
    }
  }
}
`
const CITIES = ['Lima', 'Oslo', 'München', 'Zürich']
const LINES = Array.from({ length: 40 }, (_, i) => `${i % 2};${15 + i};${CITIES[i % 4]};${i / 10};${-i}`)

function oarfish(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [BIN, ...args], { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  )
}

beforeAll(async () => {
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'part-0'), `${LINES.join('\n')}\n`)
  writeFileSync(join(folder, 'model.ts'), MODEL)
  writeFileSync(join(folder, 'reader.ts'), READER)
  writeFileSync(
    join(folder, 'config.yaml'),
    'runner:\n  train_data_dir: data\n  test_data_dir: data\n  train_batch_size: 8\n  model_save_path: saved\n',
  )
  const config = loadConfig({ path: join(folder, 'config.yaml'), cwd: folder })
  await train({ config, emit: quiet })
  await exportCheckpoint({ config, out, emit: quiet })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a server with the reader of a config', () => {
  let served: Served
  beforeAll(async () => {
    const reader = { path: join(folder, 'reader.ts'), config: {} }
    served = await serve({ model: out, port: 0, threads: 1, reader, emit: quiet })
  })
  afterAll(() => served.close())
  const post = async (body: string, type: string) => {
    const response = await fetch(`${served.url}/predict`, { method: 'POST', headers: { 'content-type': type }, body })
    return { status: response.status, json: (await response.json()) as { scores: number[]; ignored?: string[] } }
  }
  const raw = { age: 17, city: 'München', x: [0.2, -2] }

  test('scores raw lines as raw JSON, and as oarfish predict does', async () => {
    const lines = await post(`${LINES.join('\n')}\n`, 'text/plain')
    expect(lines.status).toBe(200)
    const json = await post(JSON.stringify([raw]), 'application/json')
    expect(json.json.scores).toEqual([lines.json.scores[2]])
    const { stdout, code } = await oarfish('predict', '--model', 'out', '-m', 'config.yaml', 'data/part-0')
    expect(code).toBe(0)
    expect(stdout.trim().split('\n').map(Number)).toEqual(lines.json.scores)
  })

  test('and so does a program that opens the export', async () => {
    const { json } = await post(`${LINES.join('\n')}\n`, 'text/plain')
    await using predictor = await openPredictor({ model: out })
    const records = LINES.map((line) => {
      const [, age, city, ...x] = line.split(';')
      return { age: Number(age), city: city!, x: x.map(Number) }
    })
    const { scores } = await predictor.score(records)
    expect([...scores].map((score) => Number(score.toPrecision(9)))).toEqual(json.scores)
    await expect(predictor.score([{ ...raw, age: 'old' }])).rejects.toMatchObject({
      code: 'PREDICT_SAMPLE',
      message: expect.stringContaining('bucketise needs a number, found "old"'),
    })
    // A cross has no raw field of its own.
    await expect(predictor.score([{ ...raw, age_x_city: 1 }])).rejects.toThrow('no slot "age_x_city"')
    await expect(predictor.score([{ city: 'Lima', x: [1, 2] }])).rejects.toThrow('slot "age" is missing')
    const types = readFileSync(join(out, 'model.d.ts'), 'utf8')
    expect(types).toContain('readonly city: Raw\n')
    expect(types).toContain('readonly age: Measured\n')
    expect(types).not.toContain('age_x_city')
  })

  test('names what it does not know in its answer, and what is wrong', async () => {
    const { json } = await post(JSON.stringify([{ ...raw, nation: 3, agee: 1 }]), 'application/json')
    expect(json.ignored).toEqual(['nation', 'agee'])
    expect((await post(JSON.stringify([raw]), 'application/json')).json).not.toHaveProperty('ignored')
    const wrong = await post('1;old;Lima;0;0\n', 'text/plain')
    expect(wrong.status).toBe(400)
    expect(JSON.stringify(wrong.json)).toContain('bucketise needs a number')
  })

  test('describes itself: OpenAPI of the manifest, a page that needs nothing from elsewhere', async () => {
    const described = (await (await fetch(`${served.url}/openapi.json`)).json()) as never
    const { schema, example } = described['paths']['/predict']['post']['requestBody']['content']['application/json']
    const { properties, required } = schema['properties']['instances']['items']
    expect(Object.keys(properties)).toEqual(['click', 'age', 'city', 'x'])
    expect(required).toEqual(['age', 'city', 'x'])
    expect(properties['x']).toMatchObject({ type: 'array', minItems: 2, maxItems: 2 })
    expect((await post(JSON.stringify(example), 'application/json')).status).toBe(200)
    const page = await fetch(`${served.url}/docs`)
    expect(page.headers.get('content-type')).toContain('text/html')
    const text = await page.text()
    expect(text, 'a link would send GET').not.toContain('href="/predict"')
    expect(text).toContain('<code>city</code>')
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//)
  })
})

test('diff finds no difference, and says how large one is', async () => {
  const same = await oarfish('diff', '-m', 'config.yaml', '--model', 'out')
  expect(same.stdout).toMatch(/40 records of .*part-0, epoch 0: largest difference \d\.\d\de[+-]\d+/)
  expect(same.code).toBe(0)
  // A folder is taken as by predict: its first file.
  const inFolder = await oarfish('diff', '-m', 'config.yaml', '--model', 'out', 'data')
  expect(inFolder.stdout).toContain('40 records of data/part-0, epoch 0: largest difference')
  expect(inFolder.code).toBe(0)
  // A feature that was changed after the export: what a server computes is what was exported.
  writeFileSync(join(folder, 'model.ts'), MODEL.replace('[18, 25, 35]', '[18, 40, 50]'))
  const changed = await oarfish('diff', '-m', 'config.yaml', '--model', 'out')
  writeFileSync(join(folder, 'model.ts'), MODEL)
  expect(changed.stdout).toMatch(/record \d+: trainer [\d.]+, server [\d.]+/)
  expect(changed.code).toBe(1)
})

test.each([
  ['--tolerance', 'small', /Expected a number from 0/],
  ['--rows', '0', /Expected 1 or more/],
])('diff %s %s is refused, not taken for none', async (flag, value, message) => {
  const { code, stderr } = await oarfish('diff', '-m', 'config.yaml', '--model', 'out', flag, value)
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})

test('serve -m without a reader.ts is refused', async () => {
  writeFileSync(
    join(folder, 'plain.yaml'),
    'runner:\n  train_data_dir: data\n  train_batch_size: 8\n  infer_reader_path: none\n',
  )
  const { code, stderr } = await oarfish('serve', '--model', 'out', '--port', '0', '-m', 'plain.yaml')
  expect(code).toBe(2)
  expect(stderr).toContain('there is no reader.ts for this config')
})
