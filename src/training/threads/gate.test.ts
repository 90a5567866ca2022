import { expect, test } from 'vitest'
import type { Engine } from '../../graph/engine/index.ts'
import type { Program } from '../../graph/program/index.ts'
import { createGate, gated, shutGate } from './gate.ts'

/** An engine whose runs end when they are let: onnxruntime on a busy machine. */
function slowEngine() {
  const runs: (() => void)[] = []
  const engine: Engine = {
    name: 'slow',
    compile: async () => ({
      bind: () => ({ run: () => new Promise<void>((resolve) => runs.push(resolve)) }),
      run: async () => ({}),
      close: async () => undefined,
    }),
  }
  return { engine, runs }
}

test('a gate shuts behind the last one inside, however long it takes, and lets nobody else in', async () => {
  const { engine, runs } = slowEngine()
  const gate = createGate()
  const session = await gated(engine, gate).compile({} as Program)
  const bound = session.bind({}, {})
  const inside = bound.run()
  expect(runs).toHaveLength(1)
  let isShut = false
  const shutting = shutGate(gate).then(() => {
    isShut = true
  })
  void bound.run() // this one never ends: its thread is about to
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([isShut, runs.length]).toEqual([false, 1])
  runs[0]!()
  await Promise.all([inside, shutting])
  expect([isShut, runs.length]).toEqual([true, 1])
})

test('a run that fails leaves the gate too', async () => {
  const gate = createGate()
  const failing: Engine = { name: 'failing', compile: () => Promise.reject(new Error('no memory')) }
  await expect(gated(failing, gate).compile({} as Program)).rejects.toThrow('no memory')
  await shutGate(gate)
})
