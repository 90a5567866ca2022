/** @file One program on two devices: inputs drawn from a seed, and how far the results lie apart. */
import type { Device } from '../../src/base/device/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { ortEngine, type TensorView } from '../../src/graph/engine/index.ts'
import { evaluateDim, type Program, programInputs } from '../../src/graph/program/index.ts'

/** Values that programs can take: small weights, two ids, 0 and 1 unless `least` is another, state that can be a variance. */
export function drawnInputs(
  program: Program,
  samples: number,
  { length = 4, least = 0 } = {},
): Record<string, TensorView> {
  const rng = createRng(7n)
  const state = new Set(program.state.map(({ name }) => name))
  const entries = programInputs(program).map(({ name, shape, dtype }): [string, TensorView] => {
    const dims = shape.map((dim) => evaluateDim(dim, (symbol) => (symbol === 'B' ? samples : length)))
    const size = dims.reduce((a, b) => a * b, 1)
    if (dtype === 'int64')
      return [name, { dims, data: BigInt64Array.from({ length: size }, () => BigInt(least + rng.below(2))) }]
    if (dtype === 'int32') return [name, { dims, data: new Int32Array(size).fill(5) }]
    const draw = name.endsWith('.mask')
      ? (i: number) => Number(i % dims[1]! < 1 + (Math.floor(i / dims[1]!) % dims[1]!))
      : state.has(name)
        ? () => 0.5 + rng.uniform()
        : () => 0.4 * rng.uniform() - 0.2
    return [name, { dims, data: Float32Array.from({ length: size }, (_, i) => draw(i)) }]
  })
  return Object.fromEntries(entries)
}

export async function runOn(device: Device | undefined, program: Program, inputs: Record<string, TensorView>) {
  const session = await ortEngine({ device }).compile(program)
  try {
    return await session.run(inputs)
  } finally {
    await session.close()
  }
}

/** By fetch, the largest difference relative to 1 + |value|; those above the limit. */
export function apart(
  expected: Readonly<Record<string, TensorView>>,
  actual: Readonly<Record<string, TensorView>>,
  limit: number,
): Record<string, number> {
  const found = Object.entries(expected).map(([name, { data }]): [string, number] => {
    const other = actual[name]!.data
    const worst = Array.from(data, Number).reduce((most, value, i) => {
      const difference = Math.abs(value - Number(other[i])) / (1 + Math.abs(value))
      return difference <= most ? most : difference // also where it is no number
    }, 0)
    return [name, worst]
  })
  return Object.fromEntries(found.filter(([, worst]) => !(worst <= limit)))
}
