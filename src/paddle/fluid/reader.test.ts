/** @file Readers, feeders and the housing data. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { DataFeeder, dataset, layers, Program, programGuard, reader } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-fluid-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const HOUSING = fileURLToPath(new URL('../../../examples/fit_a_line/data/housing.data', import.meta.url))

describe('readers', () => {
  const ten = () => Array.from({ length: 10 }, (_, i) => i)

  test('batch keeps or drops the last', () => {
    expect([...reader.batch(ten, { batchSize: 4 })()]).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ])
    expect([...reader.batch(ten, { batchSize: 4, dropLast: true })()]).toHaveLength(2)
  })

  test('shuffle is another order at each pass, the same for the same seed', () => {
    const orders = (seed: number) => {
      const shuffled = reader.shuffle(ten, { bufSize: 100, seed })
      return [[...shuffled()], [...shuffled()]]
    }
    const [first, second] = orders(1)
    expect(orders(1)).toEqual([first, second])
    expect(orders(2)[0]).not.toEqual(first)
    expect(second).not.toEqual(first)
    expect(first!.toSorted((a, b) => a - b)).toEqual(ten())
  })

  test('a small buffer mixes only neighbours', () => {
    const [...got] = reader.shuffle(ten, { bufSize: 5, seed: 3 })()
    expect(got.slice(0, 5).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
  })
})

describe('uciHousing', () => {
  test('scales features over all of the file and cuts it at four fifths', () => {
    const housing = dataset.uciHousing({ file: HOUSING })
    const [train, test_] = [[...housing.train()()], [...housing.test()()]]
    expect(train.length / (train.length + test_.length)).toBeCloseTo(0.8, 1)
    const all = [...train, ...test_].map(([features]) => features)
    expect(all[0]).toHaveLength(13)
    for (let c = 0; c < 13; c++) {
      const column = all.map((features) => features[c]!)
      const mean = column.reduce((sum, value) => sum + value, 0) / column.length
      expect(mean).toBeCloseTo(0, 4)
      expect(Math.max(...column) - Math.min(...column)).toBeLessThanOrEqual(1 + 1e-5)
    }
  })

  test('names a file that is missing or of another form', () => {
    expect(() => dataset.uciHousing({ file: join(folder, 'none') })).toThrow('there is no such file')
    const file = join(folder, 'bad')
    writeFileSync(file, '1 2 x')
    expect(() => dataset.uciHousing({ file })).toThrow('row 1 has a value that is not a number')
    writeFileSync(file, '1 2 3')
    expect(() => dataset.uciHousing({ file })).toThrow('it holds 3 numbers, not rows of 14')
  })
})

test('DataFeeder gives each variable its field', () => {
  programGuard(new Program(), new Program(), () => {
    const [x, y] = [layers.data({ name: 'x', shape: [2] }), layers.data({ name: 'y', shape: [1] })]
    const feeder = new DataFeeder({ feedList: [x, y] })
    expect(
      feeder.feed([
        [[1, 2], 3],
        [[4, 5], 6],
      ]),
    ).toEqual({
      x: [
        [1, 2],
        [4, 5],
      ],
      y: [3, 6],
    })
    expect(() => feeder.feed([[1]])).toThrow('a sample has 2 fields')
  })
})
