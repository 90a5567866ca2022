/** @file A model beside data it was not made for: refused with both numbers, or let through where text can be read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../base/config/index.ts'
import { checkAgreement } from './agreement.ts'
import { loadModel } from './load.ts'

/** Slots s0, s1, ... and `x`, as many as these expressions say. */
const model = (slots: string, width: string) => `
import { optimizer, z } from 'oarfish'
import { mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export const hyperParameters = z.strictObject({ slots: z.int().min(1).default(3), dense: z.strictObject({ width: z.int().default(2) }).prefault({}) })
export class StaticModel {
  constructor(hyper) { this.hyper = hyper }
  createFeeds({ label, sparse, dense }) {
    return { click: label('click'), ids: Array.from({ length: ${slots} }, (_, i) => sparse('s' + i)), x: dense('x', ${width}) }
  }
  net({ click, x }) { return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(x, { name: 'fc', out: 1 }), click)) } }
  createOptimizer() { return optimizer.sgd() }
}
`
const FROM_HYPER = model('this.hyper.slots', 'this.hyper.dense.width')
const CONFIG = `runner:
  train_data_dir: "."
  train_batch_size: 2
hyper_parameters:
  slots: 3
  dense:
    width: 2
`
const LINE = 'click:1 s0:1 s1:2 s2:3 x:0.5 x:0.25\n'

const root = mkdtempSync(join(tmpdir(), 'oarfish-agreement-'))
afterAll(() => rmSync(root, { recursive: true }))

/** A folder of its own for each model: a module is loaded once. */
let folder: string
beforeEach(() => useModel(FROM_HYPER))

function useModel(text: string): void {
  folder = mkdtempSync(join(root, 'model-'))
  write('static_model.ts', text)
  write('config.yaml', CONFIG)
}

describe('a hyper-parameter that disagrees with the data', () => {
  test('is shown at its place, with both numbers, where the data has its own, and the value that agrees', async () => {
    write('config.yaml', CONFIG.replace('width: 2', 'width: 4'))
    expect(await refusal(LINE)).toBe(
      `${folder}/config.yaml:7:12 hyper_parameters.dense.width: the model declares slot "x" with 4 values, the data has 2 at ${folder}/data:1
    7 |     width: 4
      |            ^
  fix: replace line 7 with:
    7 |     width: 2

1 error in ${folder}/config.yaml`,
    )
  })

  test.each([
    ['slots=5', 'the model declares 5 sparse slots, the data has 3 ("s3", "s4" are in none of its first 1 lines)'],
    ['slots=2', 'the model declares 2 sparse slots, the data has 3 ("s2" is not declared)'],
  ])('counts slots too: %s', async (override, message) => {
    const text = await refusal(LINE, [`hyper_parameters.${override}`])
    expect(text).toContain(`-o hyper_parameters.${override}: ${message}`)
    expect(text).toContain('fix: write -o hyper_parameters.slots=3')
  })

  test('counts the places of MultiSlot text', async () => {
    const text = await refusal('1 1 1 1 1 2 1 3 2 0.5 0.25\n', ['hyper_parameters.slots=7'])
    expect(text).toContain('the model declares 9 slots (the label among them), a line of the data has 5')
    expect(text).toContain('fix: write -o hyper_parameters.slots=3')
    expect(await refusal('1 1 1 1 1 2 1 3 2 0.5 0.25\n')).toBe('')
  })

  test('is found in gzip, and where it has its default', async () => {
    write('config.yaml', CONFIG.replace('  slots: 3\n', ''))
    const text = await refusal('click:1 s0:1 x:0.5 x:0.25\n', [], (line) => gzipSync(line), 'data.gz')
    expect(text).toContain('the model declares 3 sparse slots, the data has 1')
    expect(text).toMatch(/fix: insert after line \d+:\n +\d+ \| +slots: 1\n/)
  })
})

describe('what is not a hyper-parameter', () => {
  test("is refused where the data could not be read, naming the model's file", async () => {
    useModel(model('3', '4'))
    const error = await checked(LINE).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'MODEL_DATA',
      message: 'the model declares slot "x" with 4 values, the data has 2',
      where: { file: join(folder, 'data'), line: 1 },
      hint: expect.stringContaining('static_model.ts'),
    })
  })

  test('is let through where a model names fewer slots than the text has', async () => {
    useModel(model('2', '2'))
    expect(await refusal(LINE)).toBe('')
  })

  test('a slot, a label or values that no line has are refused with the nearest name, unless they need not be there', async () => {
    useModel(model('4', '2'))
    const error = await checked(LINE).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'MODEL_DATA',
      message: 'the model declares "s3", which none of the first 1 lines has',
      hint: 'An input that data may lack is declared with { required: false }.',
    })
    useModel(model('3', '2').replace("label('click')", "label('clicks')"))
    await expect(checked(LINE)).rejects.toMatchObject({
      message: 'the model declares "clicks", which none of the first 1 lines has; not declared, but there: "click"',
      hint: expect.stringContaining('Did you mean "click"?'),
    })
    useModel(model('3', '2').replace("label('click')", "label('clicks', { required: false })"))
    expect(await refusal(LINE)).toBe('')
  })
})

test('a bad line among good ones, and a slot that comes late, are no disagreement', async () => {
  expect(await refusal(`click:1 s0:1 s1:2 s2:3 x:0.5\n${LINE}`)).toBe('')
  const late = `${'click:1 s0:1 s1:2 x:0.5 x:0.25\n'.repeat(20_000)}${LINE}`
  expect(await refusal(late)).toBe('')
})

function write(name: string, text: string | Uint8Array): void {
  writeFileSync(join(folder, name), text)
}

async function checked(
  text: string,
  overrides: readonly string[] = [],
  encode: (text: string) => string | Uint8Array = (same) => same,
  file = 'data',
): Promise<void> {
  write(file, encode(text))
  const loaded = loadConfig({ path: join(folder, 'config.yaml'), overrides })
  await checkAgreement(loaded, (await loadModel(loaded)).slots, [join(folder, file)])
}

/** What a person reads; nothing where all is well. */
async function refusal(...parameters: Parameters<typeof checked>): Promise<string> {
  return checked(...parameters).then(
    () => '',
    (error: Error) => error.message,
  )
}
