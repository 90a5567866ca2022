/** @file Which rows a geo worker brings in, and when. */
import { expect, test } from 'vitest'
import { optimizer } from '../../weights/optim/index.ts'
import { createTable, ExchangedTable, SignMerger, SparseTable } from '../../weights/table/index.ts'
import { UnsentRows } from './unsent-rows.ts'

const signs = (...values: number[]) => BigUint64Array.from(values, BigInt)
const sorted = (taken: BigUint64Array) => [...taken].map(Number).sort((a, b) => a - b)
const FACTORS = { step: 1, rate: 1, baseRate: 1, aux: 0 }

/** A worker's table and what it has not sent. */
function openRows(segments: number) {
  const rule = { init: { kind: 'constant', value: 0 }, optimizer: optimizer.sgd({ learningRate: 1 }) } as const
  const handle = createTable({ name: 'row', dim: 1, ...rule, seed: 1, segments, copied: [] })
  const [trained, exchanged] = [new SparseTable(handle, 0), new ExchangedTable(handle, 1)]
  const [rows, merger] = [new UnsentRows(exchanged, segments), new SignMerger(segments)]
  const train = (batches: readonly BigUint64Array[]) => {
    for (const batch of batches) {
      const distinct = merger.distinct([batch])
      trained.lookup(distinct, undefined, true)
      trained.update(distinct, new Float32Array(batch.length).fill(1), FACTORS)
    }
    return batches
  }
  const send = (taken: BigUint64Array) => exchanged.bring(merger.distinct([taken]), 1, FACTORS)
  return {
    train,
    send,
    often: (batches: readonly BigUint64Array[], least: number) => rows.takeOften(train(batches), least),
    all: (batches: readonly BigUint64Array[]) => rows.takeAll(train(batches)),
    /** Takes and sends. */
    sentOften(batches: readonly BigUint64Array[], least: number): number[] {
      const taken = rows.takeOften(train(batches), least)
      send(taken)
      return sorted(taken)
    },
  }
}

test('rows are taken once so many batches have trained them, the others with all', async () => {
  const { sentOften, all } = openRows(2)
  expect(sentOften([signs(1, 2, 3), signs(1, 2), signs(1)], 3)).toEqual([1])
  expect(sentOften([signs(2), signs(1)], 3)).toEqual([2])
  expect(sentOften([signs(1)], 3)).toEqual([])
  expect(sentOften([signs(1)], 3)).toEqual([1])
  expect(sorted(await all([signs(4), signs(2, 4)]))).toEqual([2, 3, 4])
  expect(sorted(await all([]))).toEqual([])
})

test('how often a row was trained, and what it changed by, is known until it is sent', () => {
  const { often, train, send } = openRows(1)
  often([signs(1, 2), signs(1)], 2)
  train([signs(2)])
  const found = (row: number) => {
    const { touches, weights } = send(signs(row))
    return [touches[0], weights[0]]
  }
  // The test sends without noting what has arrived: the change stays.
  expect([found(1), found(2), found(3)]).toEqual([
    [2, -2],
    [2, -2],
    [0, 0],
  ])
  expect(found(1)).toEqual([0, -2])
})

test('batches without rows change nothing', async () => {
  const { often, all } = openRows(1)
  expect(sorted(often([], 2))).toEqual([])
  expect(sorted(often([signs()], 2))).toEqual([])
  expect(sorted(await all([signs(7)]))).toEqual([7])
})

test('more than go at a time are taken each once, and the event loop runs meanwhile', async () => {
  const { often, all } = openRows(4)
  const many = BigUint64Array.from({ length: 300_000 }, (_, i) => BigInt(i + 1) * 0x9e3779b97f4a7c15n)
  often([many], Number.POSITIVE_INFINITY)
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  const taken = await all([many.slice(100_000)])
  clearInterval(counting)
  expect(new Set(taken)).toEqual(new Set(many))
  expect(taken).toHaveLength(many.length)
  expect(turns).toBeGreaterThan(0)
  expect(await all([])).toHaveLength(0)
})
