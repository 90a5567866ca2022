/** @file Tables on a device: rows after some steps beside plain arithmetic, and what a step moves. */

import { describe, expect, test } from 'vitest'
import { createRng } from '../../src/base/util/index.ts'
import { backward } from '../../src/graph/autodiff/index.ts'
import { openTableSession, type TypedView } from '../../src/graph/engine/index.ts'
import { embedding, linear } from '../../src/graph/nn/index.ts'
import { rowsInputs, tableInputs } from '../../src/graph/onnx/index.ts'
import { Builder, mean, programInputs, square } from '../../src/graph/program/index.ts'
import { kernelRule, type OptimizerSpec, optimizer, stepFactors } from '../../src/weights/optim/index.ts'
import { applyReference } from '../../src/weights/optim/reference.testing.ts'
import { lacking, softwareAdapter } from './adapter.testing.ts'

const [SAMPLES, SLOTS, DIM, ROWS, STEPS] = [4, 3, 5, 5000, 3]

/** loss = mean((sum of weights * pooled + bias)^2), whose gradient plain arithmetic can give too. */
function program() {
  const builder = new Builder()
  const slots = Array.from({ length: SLOTS }, (_, i) => ({ kind: 'sparse' as const, name: String(i), builder }))
  const y = linear(embedding(slots, { name: 'rows', dim: DIM }), { name: 'fc', out: 1 })
  return backward(builder.build({ loss: mean(square(y)) }), 'loss')
}

const floats = (dims: readonly number[], draw: () => number): TypedView => ({
  dims,
  dtype: 'float32',
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, draw),
})
const ints = (values: readonly number[]): TypedView => ({
  dims: [values.length],
  dtype: 'int32',
  data: Int32Array.from(values),
})

const longs = (values: readonly number[]): TypedView => ({
  dims: [values.length],
  dtype: 'int64',
  data: BigInt64Array.from(values, BigInt),
})

const SPECS: OptimizerSpec[] = [
  optimizer.sgd({ learningRate: 0.1 }),
  optimizer.adagrad({ learningRate: 0.1 }),
  optimizer.adam({ learningRate: 0.01, lazy: true }),
  optimizer.momentum({ learningRate: 0.1, nesterov: true }),
  optimizer.rmsprop({ learningRate: 0.01, centered: true, momentum: 0.5 }),
  optimizer.ftrl({ learningRate: 0.1, l1: 0.001, l2Proximal: 0.01 }),
]

describe.skipIf(lacking)('webgpu: tables on the device', () => {
  test.each(SPECS)('$kind trains rows as plain arithmetic does, and a step moves no table', async (spec) => {
    const rule = kernelRule(spec)
    const width = (1 + rule.states) * DIM
    const rng = createRng(3n)
    const step = program()
    const table = floats([ROWS, width], () => 0.1 + rng.uniform() * 0.1)
    const expected = (table.data as Float32Array).slice()
    const weights = programInputs(step)
      .filter(({ name }) => name.startsWith('fc'))
      .map(({ name, shape }) => [name, floats(shape as number[], () => rng.uniform() - 0.5)] as const)
    const session = await openTableSession({ program: step, device: softwareAdapter(), ruleOf: () => rule })
    try {
      await session.upload('rows', table)
      for (let i = 1; i <= STEPS; i++) {
        // Few numbers, so that rows stand several times; some cells get two of them.
        const occurrences = Array.from({ length: SAMPLES * SLOTS + 4 }, () => 4000 + rng.below(8))
        const cells = occurrences.map((_, at) => at % (SAMPLES * SLOTS))
        const unique = [...new Set(occurrences)]
        const factors = stepFactors(spec, i)
        const name = tableInputs('rows')
        const own = rowsInputs(step.rows[0]!.name)
        const zeros = (rows: number) => floats([rows, DIM], () => 0)
        const inputs = {
          ...Object.fromEntries(weights),
          [name.unique]: ints(unique),
          [name.merged]: zeros(unique.length),
          [name.rate]: floats([1], () => factors.rate),
          [name.aux]: floats([1], () => factors.aux),
          [own.inverse]: ints(occurrences.map((row) => unique.indexOf(row))),
          [own.cell]: ints(cells),
          [own.factor]: floats([cells.length, 1], () => 1),
          [own.pooled]: zeros(SAMPLES * SLOTS),
          [own.shape]: longs([SAMPLES, SLOTS * DIM]),
        }
        const loss = floats([], () => 0)
        const before = session.movedBytes
        await session.run(inputs, { loss })
        expect(session.movedBytes - before).toBeLessThan(table.data.byteLength / 20)
        const { gradients, expectedLoss } = byHand(expected, width, new Map(weights), { occurrences, cells })
        expect(loss.data[0]).toBeCloseTo(expectedLoss, 5)
        for (const [row, gradient] of gradients) apply(spec, i, expected, row * width, gradient)
      }
      const trained = await session.download('rows')
      expect(trained).toHaveLength(expected.length)
      const worst = trained.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i]!)), 0)
      expect(worst).toBeLessThan(1e-5)
      expect(trained.some((value, i) => value !== (table.data as Float32Array)[i])).toBe(true)
    } finally {
      await session.close()
    }
  })

  test('a table larger than the device can hold in a buffer is refused with both sizes', async () => {
    const device = { ...softwareAdapter(), maxBufferBytes: 1 << 20 }
    const session = await openTableSession({ program: program(), device, ruleOf: () => kernelRule(SPECS[0]!) })
    try {
      const rows = floats([100_000, DIM], () => 0)
      await expect(session.upload('rows', rows)).rejects.toMatchObject({
        code: 'DEVICE_LIMIT',
        message: expect.stringMatching(/take 2 MiB; .* at most 1 MiB/),
      })
    } finally {
      await session.close()
    }
  })
})

interface Signs {
  readonly occurrences: readonly number[]
  readonly cells: readonly number[]
}

function byHand(
  table: Float32Array,
  width: number,
  weights: ReadonlyMap<string, TypedView>,
  { occurrences, cells }: Signs,
) {
  const [fc, bias] = [
    [...weights.values()].find(({ data }) => data.length > 1)!,
    [...weights.values()].find(({ data }) => data.length === 1)!,
  ]
  const w = fc.data as Float32Array
  const y = new Array<number>(SAMPLES).fill((bias.data as Float32Array)[0]!)
  occurrences.forEach((row, i) => {
    const [sample, slot] = [Math.floor(cells[i]! / SLOTS), cells[i]! % SLOTS]
    for (let d = 0; d < DIM; d++) y[sample]! += w[slot * DIM + d]! * table[row * width + d]!
  })
  const gradients = new Map<number, number[]>()
  occurrences.forEach((row, i) => {
    const [sample, slot] = [Math.floor(cells[i]! / SLOTS), cells[i]! % SLOTS]
    const sum = gradients.get(row) ?? new Array<number>(DIM).fill(0)
    for (let d = 0; d < DIM; d++) sum[d]! += ((2 * y[sample]!) / SAMPLES) * w[slot * DIM + d]!
    gradients.set(row, sum)
  })
  return { gradients, expectedLoss: y.reduce((sum, value) => sum + value * value, 0) / SAMPLES }
}

function apply(spec: OptimizerSpec, step: number, table: Float32Array, at: number, gradient: readonly number[]): void {
  const rule = kernelRule(spec)
  gradient.forEach((g, d) => {
    const places = Array.from({ length: 1 + rule.states }, (_, i) => at + i * DIM + d)
    const cell = { weight: table[places[0]!]!, state: places.slice(1).map((place) => table[place]!) }
    applyReference(rule, stepFactors(spec, step), 0, cell, g)
    ;[cell.weight, ...cell.state].forEach((value, i) => {
      table[places[i]!] = value
    })
  })
}
