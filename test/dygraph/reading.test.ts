/** @file Reading values in a step: what is read, what it must agree with, and what is refused. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSteps } from './steps.testing.ts'

const ROWS = 48
const x = Array.from({ length: ROWS }, (_, i) => [(i % 7) / 4 - 0.5, (i % 5) / 2 - 1] as const)
const text = x.map(([a, b], i) => `click:${i % 3 === 0 ? 1 : 0} x:${a} x:${b}`)

describe('a value read in a step', () => {
  test('is the one that the step computes, random numbers and weights of now included', async () => {
    const { results } = await runSteps({ model: './reading.model.ts', text, batchSize: 12 })
    expect(results).toHaveLength(4)
    for (const [i, { means }] of results.entries()) {
      expect(means['seen']).toBe(means['dropped'])
      expect(means['clicks']).toBe(4)
      const batch = x.slice(i * 12, (i + 1) * 12).flat()
      expect(means['total']).toBeCloseTo(
        batch.reduce((a, b) => a + b, 0),
        4,
      )
    }
    expect(new Set(results.map(({ means }) => means['dropped'])).size).toBe(4)
  })

  test('does not update running statistics twice, and evaluation not at all', async () => {
    const once = await runSteps({ model: './reading.model.ts', text: text.slice(0, 12), batchSize: 12 })
    const mean = x.slice(0, 12).reduce((sum, [a]) => sum + a, 0) / 12
    expect(stateOf(once.params, 'norm.running_mean')[0]).toBeCloseTo(0.1 * mean, 6)
    const evaluated = await runSteps({ model: './reading.model.ts', text, batchSize: 12, training: false })
    expect([...stateOf(evaluated.params, 'norm.running_mean')]).toEqual([0, 0])
    // Nothing is dropped: the layers were told.
    for (const { means } of evaluated.results) expect(means['seen']).toBe(means['dropped'])
    expect(evaluated.results[0]!.means['dropped']).toBeGreaterThan(0)
  })
})

describe('the session cache', () => {
  test('says when more graphs are traced than it keeps, and trains on alike', async () => {
    const model = './reading.model.ts'
    const wide = await runSteps({ model, text, batchSize: 4 })
    const narrow = await runSteps({ model, text, batchSize: 4, sessions: 3 })
    expect(wide.notices).toEqual([])
    expect(narrow.notices[0]).toMatch(/more than 3 different graphs: the longest unused was dropped/)
    expect(narrow.notices.length).toBeLessThan(8)
    expect(narrow.results).toEqual(wide.results)
  })
})

describe('what is refused', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-refused-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each([
    ['item() compared without await', 'if (mean(y).item() > 0) y = mul(y, 2)', 'PROGRAM_READ', /await t\.item\(\)/],
    ['data() indexed without await', 'if (x.data()[0] > 0) y = mul(y, 2)', 'PROGRAM_READ', /await t\.data\(\)/],
    ['a tensor compared', 'if (mean(y) > 0) y = mul(y, 2)', 'PROGRAM_READ', /await t\.item\(\)/],
    ['item() of many elements', 'await y.item()', 'PROGRAM_READ', /await t\.data\(\)/],
    ['a weight made in a step', "y = nn.linear(y, { name: 'new', out: 1 })", 'MODEL_LAYER', /addSublayer/],
    ['a metric never declared', 'metrics.other = metric.mean(mean(y))', 'MODEL_CONTRACT', /other: 'mean'/],
    ['a loss that is not a scalar', 'return { loss: y }', 'MODEL_LOSS', /trainForward/],
  ])('%s', async (_, line, code, hint) => {
    const file = join(folder, `${code}-${line.length}.ts`)
    await writeFile(file, modelWith(line))
    const error = await runSteps({ model: file, text, batchSize: 12 }).catch((reason: Error) => reason)
    expect(error).toMatchObject({ code, hint: expect.stringMatching(hint) })
  })
})

function modelWith(line: string): string {
  return `import { metric, optimizer } from 'oarfish'
import { mean, mul } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
class Net extends nn.Layer {
  out = this.addSublayer('out', new nn.Linear({ in: 2, out: 1 }))
}
export class DygraphModel {
  createFeeds({ label, dense }) { return { click: label('click'), x: dense('x', 2) } }
  createModel() { return new Net() }
  createOptimizer() { return optimizer.sgd() }
  createMetrics() { return {} }
  async trainForward(model, { click, x }) {
    let y = model.out.forward(x)
    const metrics = {}
    ${line}
    return { loss: mean(nn.sigmoidCrossEntropy(y, click)), metrics }
  }
}
`
}

function stateOf({ dense }: Awaited<ReturnType<typeof runSteps>>['params'], name: string): Float32Array {
  const { at, size } = dense.layout.entries.find((entry) => entry.name === name)!
  const bytes = dense.bytes()
  return new Float32Array(bytes.buffer, bytes.byteOffset + 4 * at, size)
}
