import { describe, expect, test } from 'vitest'
import type { Columns, Slot } from '../batch.ts'
import { createArea } from './area.ts'
import { columnsOf } from './frame-columns.ts'
import type { FieldType, SamplesHeader } from './frames.ts'

const SLOTS: readonly Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: 'a' },
  { kind: 'dense', name: 'x', width: 2, dtype: 'float32' },
  { kind: 'sparse', name: 'b' },
]
const TYPES: readonly FieldType[] = ['int64', 'int64', 'float32', 'uint64']
type Arrays = readonly (BigInt64Array | BigUint64Array | Float32Array | Float64Array)[]

/** As Python's marshal.dumps(sample, 2) writes a list of arrays. */
function record(arrays: Arrays): Uint8Array {
  const mark = (kind: string, size: number) => {
    const bytes = Buffer.alloc(5, kind)
    bytes.writeUInt32LE(size, 1)
    return bytes
  }
  const fields = arrays.flatMap((array) => [
    mark('s', array.byteLength),
    Buffer.from(array.buffer, array.byteOffset, array.byteLength),
  ])
  return Buffer.concat([mark('[', arrays.length), ...fields])
}

/** As it writes a list of lists of numbers. */
function listRecord(arrays: Arrays): Uint8Array {
  const mark = (kind: string, size: number, rest: Uint8Array = Buffer.alloc(0)) => {
    const bytes = Buffer.alloc(5, kind)
    bytes.writeInt32LE(size, 1)
    return Buffer.concat([bytes, rest])
  }
  const long = (value: bigint) => {
    const digits: number[] = []
    for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 15n) digits.push(Number(rest & 0x7fffn))
    return mark('l', value < 0n ? -digits.length : digits.length, Buffer.from(Uint16Array.from(digits).buffer))
  }
  const number = (value: number | bigint) => {
    if (typeof value === 'bigint') return BigInt.asIntN(32, value) === value ? mark('i', Number(value)) : long(value)
    return Buffer.concat([Buffer.from('g'), Buffer.from(Float64Array.of(value).buffer)])
  }
  const lists = arrays.map((array) => Buffer.concat([mark('[', array.length), ...Array.from(array, number)]))
  return Buffer.concat([mark('[', arrays.length), ...lists])
}

const FORMS = { arrays: record, lists: listRecord } as const

function read(form: keyof typeof FORMS, samples: readonly Arrays[], dtypes = TYPES, area = createArea()): Columns {
  const bytes = Buffer.concat(samples.map(FORMS[form]))
  const payload = new Uint8Array(Math.ceil(bytes.length / 8) * 8)
  payload.set(bytes)
  const fields = dtypes.map((dtype) => ({ dtype }))
  const header: SamplesHeader = {
    kind: 'samples',
    samples: samples.length,
    fields,
    records: form,
    ignored: [],
    asked: false,
  }
  area.clear()
  return columnsOf(SLOTS, { header, payload }, samples.length, area)
}

const sample = (i: number): Arrays => [
  BigInt64Array.of(BigInt(i % 2)),
  BigInt64Array.from({ length: 1 + (i % 3) }, (_, k) => BigInt(1000 * i + k)),
  Float32Array.of(i, -i / 3),
  BigUint64Array.of(2n ** 64n - 1n - BigInt(i)),
]

function expectSample({ counts, starts, signs, dense }: Columns, i: number): void {
  const [click, a, x, b] = sample(i)
  expect([...dense[0]!.subarray(i, i + 1)]).toEqual([...click!])
  expect([...dense[1]!.subarray(2 * i, 2 * i + 2)]).toEqual([...x!])
  expect([...counts.subarray(2 * i, 2 * i + 2)]).toEqual([a!.length, b!.length])
  expect([...signs.subarray(starts[i]!, starts[i + 1]!)]).toEqual([...a!, ...b!].map(BigInt))
}

describe.each(['arrays', 'lists'] as const)('records of %s', (form) => {
  test('become columns, however many values each sample has, in memory that is used again', () => {
    const area = createArea()
    for (const count of [1, 7, 300, 20]) {
      const columns = read(
        form,
        Array.from({ length: count }, (_, i) => sample(i)),
        TYPES,
        area,
      )
      expect(columns.samples).toBe(count)
      for (let i = 0; i < count; i++) expectSample(columns, i)
    }
  })

  test('of other types are the same columns', () => {
    const samples = Array.from({ length: 50 }, (_, i) => {
      const [click, a, x, b] = sample(i)
      return [Float64Array.from(click!, Number), Float64Array.from(a!, Number), Float64Array.from(x!, Number), b!]
    })
    const columns = read(form, samples, ['float64', 'float64', 'float64', 'uint64'])
    for (let i = 0; i < 50; i++) expectSample(columns, i)
  })

  test('hold numbers of every size, up to the last of their type', () => {
    const most = [2n ** 15n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n, 2n ** 45n + 1n, 2n ** 60n, 2n ** 63n - 1n]
    const labels = [...most, ...most.map((value) => -value), -(2n ** 31n) - 1n, -(2n ** 63n)]
    const samples = labels.map((label): Arrays => {
      const id = BigInt.asUintN(64, label)
      return [BigInt64Array.of(label), BigInt64Array.from(most), Float32Array.of(1, 2), BigUint64Array.of(id)]
    })
    const { dense, starts, signs } = read(form, samples)
    expect([...dense[0]!]).toEqual(labels)
    for (const [i, label] of labels.entries())
      expect([...signs.subarray(starts[i]!, starts[i + 1]!)]).toEqual([...most, BigInt.asUintN(64, label)])
  })

  const [click, a, x, b] = sample(1)
  test.each<[string, Arrays, RegExp]>([
    ['a negative id', [click!, BigInt64Array.of(-5n), x!, b!], /slot "a": expected ids .* found -5/],
    ['no id', [click!, a!, x!, new BigUint64Array(0)], /slot "b": the number of ids can not be zero/],
    ['too many values', [click!, a!, Float32Array.of(1, 2, 3), b!], /slot "x": expected 2 values, found 3/],
    ['what is no number', [click!, a!, Float32Array.of(1, Number.NaN), b!], /slot "x": expected a finite .* found NaN/],
  ])('are refused with %s, by their place', (_, bad, message) => {
    const thrown = (() => {
      try {
        return read(form, [sample(0), sample(2), bad, sample(3)])
      } catch (error) {
        return error
      }
    })()
    expect(thrown).toMatchObject({ sample: 2, message: expect.stringMatching(message) })
  })
})
