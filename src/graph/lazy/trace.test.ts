import { describe, expect, test } from 'vitest'
import { add, mean, mul, type Tensor } from '../program/index.ts'
import { openTrace, type Traced, type TraceOptions } from './trace.ts'

const tables = [{ name: 'ids', dim: 2, init: { kind: 'zeros' } }] as const

/** y = (w x + extra ones) * times, with a second weight that nothing uses. */
function trace(times: number, options: Partial<TraceOptions> = {}) {
  const { builder, finish } = openTrace({
    phase: 'training',
    tables,
    evaluate: async () => Float32Array.of(0),
    ...options,
  })
  const x = builder.feed('x', ['B', 2], 'float32')
  const w = builder.parameter({ name: 'w', shape: [2], init: { kind: 'zeros' } })
  const unused = builder.parameter({ name: 'unused', shape: [2], init: { kind: 'zeros' } })
  let y: Tensor = mul(x, w)
  for (let i = 0; i < times; i++) y = add(y, x)
  return { x, w, unused, y, finish }
}

describe('a trace', () => {
  test('has the key of another exactly when it recorded the same', () => {
    const key = (times: number) => {
      const { y, finish } = trace(times)
      return finish({ loss: mean(y) }).key
    }
    expect(key(2)).toBe(key(2))
    expect(key(2)).not.toBe(key(3))
    const { y, x, finish } = trace(2)
    expect(finish({ loss: mean(y), x }).key).not.toBe(key(2))
    const inferred = trace(2, { phase: 'inference' })
    expect(inferred.finish({ loss: mean(inferred.y) }).key).not.toBe(key(2))
  })

  test('has gradients only of what the loss depends on, and every table of the model', () => {
    const { y, finish } = trace(1)
    const program = finish({ loss: mean(y) }).build()
    expect(program.fetches.map(({ name }) => name)).toEqual(['loss', 'grad:w'])
    expect(program.tables).toEqual(tables)
  })

  test('reads a value by the ops that it depends on, once a step', async () => {
    const asked: Traced[] = []
    const evaluate = async (prefix: Traced) => {
      asked.push(prefix)
      return Float32Array.of(asked.length)
    }
    const { x, y, finish } = trace(1, { evaluate })
    const value = mean(x)
    expect(await value.item()).toBe(1)
    expect(await value.item()).toBe(1)
    expect([...(await y.data())]).toEqual([2])
    expect(asked).toHaveLength(2)
    const prefix = asked[0]!.build()
    expect(prefix.nodes.map(({ op }) => op.kind)).toEqual(['mean'])
    expect(prefix.parameters).toEqual([])
    // The step itself holds what was read again.
    expect(finish({ loss: mean(y), value }).build().nodes.length).toBeGreaterThan(prefix.nodes.length)
  })
})
