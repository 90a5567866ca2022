/** @file Branches and loops by data beside PyTorch's eager run, by values that test/python/record_dygraph.py recorded. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { LocalParams } from '../../src/weights/params/index.ts'
import { runSteps } from './steps.testing.ts'

type Values = readonly number[]
interface Weights {
  readonly parameters: Readonly<Record<string, Values>>
  /** Per table, rows by sign. */
  readonly tables: Readonly<Record<string, Readonly<Record<string, Values>>>>
}
interface Recorded {
  readonly batchSize: number
  readonly text: readonly string[]
  readonly initial: Weights
  readonly final: Weights
  readonly steps: readonly {
    readonly loss: number
    readonly loops: number
    readonly branch: string
    /** Weights and tables that the step's loss depends on. */
    readonly trained: readonly string[]
  }[]
}

const recorded = JSON.parse(readFileSync(new URL('../fixtures/dygraph.json', import.meta.url), 'utf8')) as Recorded

describe('a model whose loop and branch depend on the data', () => {
  const pushed: string[][] = []
  let run: Awaited<ReturnType<typeof runSteps>>
  beforeAll(async () => {
    const { text, batchSize, initial } = recorded
    run = await runSteps({
      ...{ model: './branching.model.ts', text, batchSize },
      prepare: (params) => setWeights(params, initial),
      onPush: ({ tables, dense }, params) => {
        pushed.push([...dense!, ...tables.map(({ table }) => params.tables[table]!.name)].sort())
      },
    })
  })

  test('the recorded steps are of several kinds', () => {
    expect(new Set(recorded.steps.map(({ loops }) => loops)).size).toBeGreaterThan(3)
    expect(new Set(recorded.steps.map(({ branch }) => branch)).size).toBe(2)
  })

  test('has the losses of PyTorch, step by step', () => {
    expect(run.results).toHaveLength(recorded.steps.length)
    for (const [i, { loss, means }] of run.results.entries()) {
      expect(Math.abs(loss - recorded.steps[i]!.loss), `step ${i}`).toBeLessThan(1e-6)
      expect(means['cost']).toBe(loss)
    }
  })

  test('trains in each step only what its loss depends on', () => {
    expect(pushed).toEqual(recorded.steps.map(({ trained }) => trained))
  })

  test('ends with the weights and rows of PyTorch', () => {
    const { parameters, tables } = getWeights(run.params)
    expectClose(parameters, recorded.final.parameters)
    for (const [name, rows] of Object.entries(recorded.final.tables)) expectClose(tables[name]!, rows)
  })

  test('keeps one session for each kind of step and each kind of read', () => {
    expect(run.notices).toEqual([])
    expect(run.step.seconds.read).toBeGreaterThan(0)
  })
})

function denseOf({ dense }: LocalParams): Float32Array {
  const bytes = dense.bytes()
  return new Float32Array(bytes.buffer, bytes.byteOffset, dense.layout.floats)
}

function setWeights(params: LocalParams, { parameters, tables }: Weights): void {
  const { entries } = params.dense.layout
  expect(entries.map(({ name }) => name).sort()).toEqual(Object.keys(parameters).sort())
  for (const { name, at } of entries) denseOf(params).set(parameters[name]!, at)
  for (const table of params.tables) {
    const rows = Object.entries(tables[table.name]!)
    const whole = new Uint8Array(rows.length * table.rowBytes)
    for (const [i, [, values]] of rows.entries())
      new Float32Array(whole.buffer, i * table.rowBytes, table.dim).set(values)
    const signs = BigUint64Array.from(rows, ([sign]) => BigInt(sign))
    table.load(signs, whole)
  }
}

function getWeights(params: LocalParams): Weights {
  const dense = params.dense.layout.entries.map(
    ({ name, at, size }) => [name, Array.from(denseOf(params).subarray(at, at + size))] as const,
  )
  const tables = params.tables.map((table) => {
    const rows: Record<string, Values> = {}
    for (const { signs, rows: whole, rowBytes } of table.scan()) {
      for (const [i, sign] of signs.entries()) {
        const row = whole.slice(i * rowBytes, i * rowBytes + 4 * table.dim)
        rows[String(sign)] = Array.from(new Float32Array(row.buffer))
      }
    }
    return [table.name, rows] as const
  })
  return { parameters: Object.fromEntries(dense), tables: Object.fromEntries(tables) }
}

function expectClose(actual: Readonly<Record<string, Values>>, expected: Readonly<Record<string, Values>>): void {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort())
  for (const [name, values] of Object.entries(expected)) {
    const off = values.map((value, i) => Math.abs(actual[name]![i]! - value))
    expect(Math.max(...off), name).toBeLessThan(1e-5)
  }
}
