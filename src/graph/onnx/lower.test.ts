import { describe, expect, test } from 'vitest'
import {
  Builder,
  concat,
  expand,
  gemm,
  mean,
  type Program,
  relu,
  reshape,
  slice,
  softmaxCrossEntropy,
  sum,
  unsqueeze,
} from '../program/index.ts'
import { toOnnxModel } from './index.ts'

const init = { kind: 'zeros' } as const
const listing = (program: Program) =>
  toOnnxModel(program).nodes.map(({ type, inputs, output }) => `${type}(${inputs.join(', ')}) -> ${output}`)

describe('a program as ONNX', () => {
  test('keeps the names of inputs and fetches, and emits Gemm + Relu for a layer', () => {
    const b = new Builder()
    const x = b.feed('x', ['B', 3], 'float32')
    const weight = b.parameter({ name: 'fc.weight', shape: [3, 2], init })
    const bias = b.parameter({ name: 'fc.bias', shape: [2], init })
    const model = toOnnxModel(b.build({ y: relu(gemm(x, weight, { bias })) }))
    expect(model.inputs.map(({ name }) => name)).toEqual(['x', 'fc.weight', 'fc.bias'])
    expect(model.nodes.map(({ type, inputs, output }) => `${type}(${inputs.join(', ')}) -> ${output}`)).toEqual([
      'Gemm(x, fc.weight, fc.bias) -> /Gemm_0',
      'Relu(/Gemm_0) -> y',
    ])
  })

  test('reads no size at run time where 0, -1 or broadcasting will do', () => {
    const b = new Builder()
    const x = b.rows({ name: 'x', table: 'x', slots: ['s'], dim: 4, pooling: 'sequence', init })
    const flat = reshape(x, [-1, 4])
    const wide = expand(unsqueeze(x, 1), ['B', 5, 'T_s', 4])
    expect(listing(b.build({ flat, wide, last: slice(x, 1, -1) })).filter((line) => line.startsWith('Shape'))).toEqual(
      [],
    )
  })

  test('reads a size once where it must', () => {
    const b = new Builder()
    const x = b.feed('x', ['B', 2], 'float32')
    const label = b.feed('label', ['B', 1], 'int64')
    const loss = mean(softmaxCrossEntropy(x, label))
    const copies = [expand(sum(x, 0), ['B', 2]), expand(sum(x), ['B', 1])]
    expect(listing(b.build({ loss, z: concat(copies, 1) })).filter((line) => line.startsWith('Shape'))).toHaveLength(1)
  })

  test('gives a fetch of an input, and a second fetch of one value, a node of its own', () => {
    const b = new Builder()
    const x = b.feed('x', ['B', 2], 'float32')
    const y = relu(x)
    expect(listing(b.build({ same: x, y, again: y }))).toEqual([
      'Relu(x) -> y',
      'Identity(x) -> same',
      'Identity(y) -> again',
    ])
  })
})
