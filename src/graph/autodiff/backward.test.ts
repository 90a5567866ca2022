import { describe, expect, test } from 'vitest'
import { embedding, linear, softmaxCrossEntropy } from '../nn/index.ts'
import {
  add,
  Builder,
  concat,
  constant,
  mean,
  mul,
  type Program,
  phase,
  printProgram,
  relu,
  softmax,
  square,
  sum,
  type Tensor,
} from '../program/index.ts'
import { backward, inference } from './index.ts'

const init = { kind: 'zeros' } as const

/** A small CTR model: two slots and two dense values, one hidden layer. */
function ctr(): Program {
  const builder = new Builder()
  const slots = ['a', 'b'].map((name) => ({ kind: 'sparse' as const, name, builder }))
  const dense = builder.feed('dense', ['B', 2], 'float32')
  const label = builder.feed('label', ['B', 1], 'int64')
  const x = concat([embedding(slots, { name: 'embedding', dim: 3 }), dense], 1)
  const logits = linear(linear(x, { name: 'fc', out: 4, activation: 'relu' }), { name: 'out', out: 2 })
  return builder.build({ loss: mean(softmaxCrossEntropy(logits, label)), probability: softmax(logits) })
}

describe('backward', () => {
  test('adds a gradient for every parameter and rows input, without a wasted node', () => {
    const step = backward(ctr(), 'loss')
    // No gradient of the dense feed: the weight is sliced so that only the rows' columns are computed. The loss gradient
    // is (softmax - onehot) / B and shares the softmax with the probability.
    expect(printProgram(step).split('\n').slice(7).join('\n')).toMatchInlineSnapshot(`
      "%10 = concat(%2, %0) {axis: 1} : float32[B, 8]
      %11 = gemm(%10, %4, %5) : float32[B, 4]
      %12 = relu(%11) : float32[B, 4]
      %13 = gemm(%12, %8, %9) : float32[B, 2]
      %14 = softmax_cross_entropy(%13, %1) : float32[B, 1]
      %15 = mean(%14) {axes: [0,1]} : float32[]
      %16 = softmax(%13) {axis: 1} : float32[B, 2]
      %17 = constant() {values: [1], shape: [], dtype: "float32"} : float32[]
      %18 = count() {dims: ["B"]} : float32[]
      %19 = div(%17, %18) : float32[]
      %22 = cast(%1) {to: "int32"} : int32[B, 1]
      %23 = iota() {size: 2} : int32[2]
      %24 = equal(%22, %23) : bool[B, 2]
      %25 = cast(%24) {to: "float32"} : float32[B, 2]
      %26 = sub(%16, %25) : float32[B, 2]
      %27 = mul(%26, %19) : float32[B, 2]
      %28 = gemm(%27, %8) {transposeB: true} : float32[B, 4]
      %29 = gemm(%12, %27) {transposeA: true} : float32[4, 2]
      %30 = sum(%27) {axes: [0]} : float32[2]
      %31 = constant() {values: [0], shape: [], dtype: "float32"} : float32[]
      %32 = greater(%12, %31) : bool[B, 4]
      %33 = cast(%32) {to: "float32"} : float32[B, 4]
      %34 = mul(%28, %33) : float32[B, 4]
      %36 = gemm(%10, %34) {transposeA: true} : float32[8, 4]
      %37 = sum(%34) {axes: [0]} : float32[4]
      %38 = slice(%4) {axis: 0, start: 0, end: 6} : float32[6, 4]
      %39 = gemm(%34, %38) {transposeB: true} : float32[B, 6]
      fetch loss = %15
      fetch probability = %16
      fetch grad:fc.weight = %36
      fetch grad:fc.bias = %37
      fetch grad:out.weight = %29
      fetch grad:out.bias = %30
      fetch grad:embedding = %39"
    `)
  })

  test('of a weight the loss does not depend on is zero', () => {
    const b = new Builder()
    const [used, unused] = ['used', 'unused'].map((name) => b.parameter({ name, shape: [2], init })) as [Tensor, Tensor]
    const step = backward(b.build({ loss: sum(square(used)), y: unused }), 'loss')
    const gradient = step.fetches.find(({ name }) => name === 'grad:unused')!
    expect(gradient.shape).toEqual([2])
    expect(step.nodes.find(({ value }) => value === gradient.value)!.op.kind).toBe('expand')
  })

  test('leaves out parameters that are not trainable', () => {
    const b = new Builder()
    const w = b.parameter({ name: 'w', shape: [2], init, trainable: false })
    expect(backward(b.build({ loss: sum(w) }), 'loss').fetches.map(({ name }) => name)).toEqual(['loss'])
  })

  test('sums the gradients of a value used twice', () => {
    const b = new Builder()
    const w = b.parameter({ name: 'w', shape: [], init })
    const step = backward(b.build({ loss: add(mul(w, 3), mul(w, 4)) }), 'loss')
    expect(printProgram(step)).toContain('values: [7]')
  })

  test('says what is wrong with a loss that is missing or not one number', () => {
    const b = new Builder()
    const w = b.parameter({ name: 'w', shape: [2], init })
    expect(() => backward(b.build({ loss: w }), 'cost')).toThrow('no fetch named "cost"')
    expect(() => backward(b.build({ loss: w }), 'loss')).toThrow('has the shape [2]; it must be one number')
  })
})

describe('inference', () => {
  test('keeps what its fetches need and no other input', () => {
    const program = inference(ctr(), ['probability'])
    expect(program.feeds.map(({ name }) => name)).toEqual(['dense'])
    expect(program.fetches.map(({ name }) => name)).toEqual(['probability'])
    expect(program.nodes.map(({ op }) => op.kind)).toEqual(['concat', 'gemm', 'relu', 'gemm', 'softmax'])
  })

  test('takes the second operand of a phase, where training takes the first', () => {
    const b = new Builder()
    const w = b.parameter({ name: 'w', shape: [2], init })
    const program = b.build({ y: phase(relu(w), mul(w, constant(b, 3))), loss: sum(phase(relu(w), w)) })
    expect(inference(program, ['y']).nodes.map(({ op }) => op.kind)).toEqual(['constant', 'mul'])
    expect(backward(program, 'loss').nodes.map(({ op }) => op.kind)).not.toContain('phase')
  })

  test('suggests the nearest fetch for one that does not exist', () => {
    expect(() => inference(ctr(), ['probabilty'])).toThrow('no fetch named "probabilty"')
  })

  test('reads state without writing it', () => {
    const b = new Builder()
    const state = b.state({ name: 's', shape: [1], init, merge: 'mean' })
    b.setState(state, add(state, 1))
    const program = b.build({ y: mul(state, 2) })
    expect(program.fetches.map(({ name }) => name)).toEqual(['y', 'state:s'])
    expect(inference(program, ['y']).fetches.map(({ name }) => name)).toEqual(['y'])
  })
})
