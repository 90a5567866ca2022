import { describe, expect, test } from 'vitest'
import { add, Builder, matmul, mean, mul, type Program, relu, softmaxCrossEntropy } from '../program/index.ts'
import type { Engine, TensorData, TensorView } from './index.ts'
import { nullEngine, ortEngine, referenceEngine } from './index.ts'

const numbers = (data: TensorData): number[] => Array.from(data as ArrayLike<number | bigint>, Number)
const floats = (dims: readonly number[], values: ArrayLike<number>): TensorView => ({
  dims,
  data: Float32Array.from(values),
})

/** y = relu(x w), loss = mean(y). */
function program(): Program {
  const b = new Builder()
  const x = b.feed('x', ['B', 2], 'float32')
  const w = b.parameter({ name: 'w', shape: [2, 2], init: { kind: 'zeros' } })
  const y = relu(matmul(x, w))
  return b.build({ y, loss: mean(y) })
}
const w = floats([2, 2], [1, -1, 2, 1])

describe.each<Engine>([ortEngine(), referenceEngine(), referenceEngine({ precision: 'float64' })])(
  'the $name engine',
  (engine) => {
    test('runs once and returns every fetch', async () => {
      const session = await engine.compile(program())
      const { y, loss } = await session.run({ x: floats([1, 2], [3, -1]), w })
      expect(y!.dims).toEqual([1, 2])
      expect(numbers(y!.data)).toEqual([1, 0])
      expect(numbers(loss!.data)).toEqual([0.5])
      expect(loss!.dims).toEqual([])
      await session.close()
    })

    test('reads and writes bound buffers in place at every run', async () => {
      const session = await engine.compile(program())
      const x = floats([1, 2], [1, 1])
      const y = floats([1, 2], [9, 9])
      const bound = session.bind({ x, w }, { y })
      await bound.run()
      expect(numbers(y.data)).toEqual([3, 0])
      x.data.set([0, 1] as never)
      await bound.run()
      expect(numbers(y.data)).toEqual([2, 1])
      await session.close()
    })

    test('takes another batch size by binding again', async () => {
      const session = await engine.compile(program())
      for (const batch of [3, 1, 4]) {
        const y = floats([batch, 2], new Array(batch * 2).fill(0))
        await session.bind({ x: floats([batch, 2], new Array(batch * 2).fill(1)), w }, { y }).run()
        expect(numbers(y.data).slice(-2)).toEqual([3, 0])
      }
      await session.close()
    })

    test('works on views of WebAssembly memory', async () => {
      const session = await engine.compile(program())
      const memory = new WebAssembly.Memory({ initial: 1 })
      const x = { dims: [1, 2], data: new Float32Array(memory.buffer, 64, 2) }
      const y = { dims: [1, 2], data: new Float32Array(memory.buffer, 128, 2) }
      x.data.set([2, 2])
      await session.bind({ x, w }, { y }).run()
      expect(numbers(y.data)).toEqual([6, 0])
      await session.close()
    })

    test('says which input is missing, or which does not fit', async () => {
      const session = await engine.compile(program())
      await expect(session.run({ x: floats([1, 2], [1, 1]) })).rejects.toThrow('input "w" was not given')
      await expect(session.run({ x: floats([1, 3], [1, 1, 1]), w })).rejects.toThrow(
        'Input "x" is [1, 3], which does not fit [B, 2]',
      )
      await expect(session.run({ x: floats([2, 2], [1, 1]), w })).rejects.toThrow('has 2 elements')
      await session.close()
    })

    test('gives NaN for a label beyond the classes, in that sample alone', async () => {
      const b = new Builder()
      const loss = softmaxCrossEntropy(b.feed('x', ['B', 2], 'float32'), b.feed('label', ['B', 1], 'int64'))
      const session = await engine.compile(b.build({ loss }))
      const result = await session.run({
        x: floats([3, 2], [0, 0, 0, 0, 0, 0]),
        label: { dims: [3, 1], data: BigInt64Array.of(1n, 2n, -1n) },
      })
      expect(numbers(result['loss']!.data).map((value) => value.toFixed(3))).toEqual(['0.693', 'NaN', 'NaN'])
      await session.close()
    })

    test('computes int64 and bool by their own buffers', async () => {
      const b = new Builder()
      const i = b.feed('i', ['B'], 'int64')
      const session = await engine.compile(b.build({ j: add(mul(i, 2), 1) }))
      const { j } = await session.run({ i: { dims: [2], data: BigInt64Array.of(5n, -7n) } })
      expect(j!.data).toEqual(BigInt64Array.of(11n, -13n))
      await session.close()
    })
  },
)

test('the null engine computes nothing and returns zeros of the right shape', async () => {
  const session = await nullEngine().compile(program())
  const y = floats([1, 2], [9, 9])
  await session.bind({}, { y }).run()
  expect(numbers(y.data)).toEqual([0, 0])
  expect((await session.run({ x: floats([3, 2], [1, 1, 1, 1, 1, 1]), w }))['y']!.dims).toEqual([3, 2])
})
