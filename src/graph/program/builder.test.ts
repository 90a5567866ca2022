import { describe, expect, test } from 'vitest'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import {
  add,
  Builder,
  concat,
  gemm,
  matmul,
  mean,
  type Program,
  printProgram,
  programHash,
  relu,
  reshape,
  slice,
  softmaxCrossEntropy,
  sum,
  type Tensor,
  verify,
} from './index.ts'

const zeros = { kind: 'zeros' } as const

/** What a person would read. */
function messageOf(body: () => unknown): string {
  try {
    body()
  } catch (error) {
    if (isUserError(error)) return formatUserError(error)
    throw error
  }
  throw new Error('nothing was thrown')
}

function small(): Program {
  const b = new Builder()
  const x = b.feed('x', ['B', 3], 'float32')
  const w = b.parameter({ name: 'w', shape: [3, 2], init: zeros })
  return b.build({ loss: mean(relu(matmul(x, w))) })
}

describe('a program', () => {
  test('prints one value a line', () => {
    expect(printProgram(small())).toMatchInlineSnapshot(`
      "%0 = feed x : float32[B, 3]
      %1 = parameter w : float32[3, 2]
      %2 = gemm(%0, %1) : float32[B, 2]
      %3 = relu(%2) : float32[B, 2]
      %4 = mean(%3) {axes: [0,1]} : float32[]
      fetch loss = %4"
    `)
  })

  test('is frozen plain data that survives a structured clone', () => {
    const program = small()
    expect(structuredClone(program)).toEqual(program)
    expect(Object.isFrozen(program.nodes[0]!.op)).toBe(true)
  })

  test('has the same hash when traced again, and another when it differs', () => {
    const b = new Builder()
    expect(programHash(small())).toBe(programHash(small()))
    expect(programHash(b.build({ y: b.feed('x', ['B', 3], 'float32') }))).not.toBe(programHash(small()))
  })

  test('holds equal ops on equal operands once, and no node that nothing needs', () => {
    const b = new Builder()
    const x = b.feed('x', ['B', 3], 'float32')
    relu(add(x, 1))
    const program = b.build({ y: add(relu(x), relu(x)) })
    expect(program.nodes.map(({ op }) => op.kind)).toEqual(['relu', 'add'])
  })

  test('is refused by the verifier when a shape is not what its rule says, or a value comes too late', () => {
    const program = small()
    const [first, ...rest] = program.nodes
    expect(() => verify({ ...program, nodes: [{ ...first!, shape: ['B', 4] }, ...rest] })).toThrow(
      'its rule says float32[B, 2]',
    )
    expect(() => verify({ ...program, nodes: [...rest, first!] })).toThrow('before it is defined')
  })

  test('names parameters by the path of scopes', () => {
    const b = new Builder()
    b.scope('tower', () => b.scope('fc', () => b.parameter({ name: 'weight', shape: [1], init: zeros })))
    expect(b.build({}).parameters.map(({ name }) => name)).toEqual(['tower.fc.weight'])
  })
})

describe('embedding rows', () => {
  const spec = { name: 'e', table: 't', slots: ['a', 'b'], dim: 4, pooling: 'sum', init: zeros } as const

  test('are [B, slots * dim] pooled, and [B, T, dim] with a mask as a sequence', () => {
    const b = new Builder()
    const pooled = b.rows(spec)
    const sequence = b.rows({ ...spec, name: 's', slots: ['click-log'], pooling: 'sequence' })
    expect(pooled.shape).toEqual(['B', 8])
    expect(sequence.shape).toEqual(['B', 'T_click_log', 4])
    expect(b.maskOf(sequence).shape).toEqual(['B', 'T_click_log'])
    const program = b.build({ pooled })
    expect(program.tables).toEqual([{ name: 't', dim: 4, init: zeros }])
    expect(program.feeds.map(({ name }) => name)).toEqual(['s.mask'])
  })

  test('of one table must agree on it', () => {
    const b = new Builder()
    b.rows(spec)
    expect(messageOf(() => b.rows({ ...spec, name: 'f', dim: 5 }))).toMatchInlineSnapshot(`
      "Table t is declared twice, with dim 4 and {"kind":"zeros"}, then with dim 5 and {"kind":"zeros"}.
        Embeddings that share a table need the same dim and init; otherwise give one of them its own table."
    `)
  })
})

describe('a mistake says which op, which operands and what to change:', () => {
  const b = new Builder()
  const x = b.feed('x', ['B', 3], 'float32')
  const w = b.parameter({ name: 'w', shape: [5, 4], init: zeros })
  const i = b.feed('i', ['B', 1], 'int64')
  test.each<[string, () => Tensor, string]>([
    [
      'a product',
      () => matmul(x, w),
      'gemm(float32[B, 3], float32[5, 4]): inner dimensions 3 and 5 differ.\n  Give the second operand 3 rows, or transpose one of them.',
    ],
    [
      'a bias',
      () => gemm(x, slice(w, 0, 0, 3), { bias: w }),
      'gemm(float32[B, 3], float32[3, 4], float32[5, 4]): the bias must be [4].\n  Give one bias per column.',
    ],
    [
      'broadcasting',
      () => add(x, w),
      'add(float32[B, 3], float32[5, 4]): dimensions B and 5 (axis 0) do not broadcast.\n  Make them equal, or make one of them 1 with reshape or unsqueeze.',
    ],
    [
      'dtypes',
      () => add(x, i),
      "add(float32[B, 3], int64[B, 1]): dtypes float32 and int64 differ.\n  Cast one operand: cast(x, 'float32').",
    ],
    [
      'a reshape',
      () => reshape(x, [7, -1]),
      'reshape: [B, 3] does not divide into [7, -1].\n  Choose dimensions whose product divides the element count.',
    ],
    [
      'a concatenation',
      () => concat([x, w], 1),
      'concat(float32[B, 3], float32[5, 4]): [B, 3] and [5, 4] differ in an axis other than 1.\n  Make them equal there, or concatenate along that axis.',
    ],
    [
      'labels',
      () => softmaxCrossEntropy(x, x),
      "softmax_cross_entropy(float32[B, 3], float32[B, 3]): float32 cannot index.\n  Use cast(x, 'int64') first.",
    ],
    ['an axis', () => sum(x, 2), 'Axis 2 does not exist in [B, 3].\n  Use -2 to 1.'],
    [
      'a name',
      () => b.feed('x', ['B'], 'float32'),
      'There is already a feed named "x".\n  Give this one another name, or wrap it in builder.scope(...).',
    ],
    [
      'a dimension',
      () => b.feed('y', ['batch size', 2], 'float32'),
      `The input y has the dimension batch size.\n  Say how many values a sample has of it: dense('y', 13). In a graph of your own a symbol such as "B" stands for a size that varies.`,
    ],
  ])('%s', (_, mistake, message) => {
    expect(messageOf(mistake)).toBe(message)
  })

  test('tensors of two programs', () => {
    expect(messageOf(() => add(x, new Builder().feed('z', ['B', 3], 'float32')))).toContain(
      'mixes tensors of two programs',
    )
  })
})
