/** @file The first trainer's lines, as its scripts look for them. */
import { expect, test } from 'vitest'
import type { Event } from './event.ts'
import { paddleTrainerSink } from './paddle-trainer.ts'

const batch = (number: number, samples: number, cost: number): Event => ({
  ...{ kind: 'batch', phase: 'train', epoch: 0, batch: number, samples, fraction: 0.5, metrics: { loss: 1, cost } },
  ...{ readerSecondsPerBatch: 0, secondsPerBatch: 0, samplesPerBatch: 0, samplesPerSecond: 0 },
})

test('passes, tests and saved models', () => {
  const events: readonly Event[] = [
    { kind: 'start', command: 'train', model: 'oarfish trainer', settings: { num_passes: 2, local: true } },
    batch(0, 10, 5),
    batch(10, 110, 4),
    batch(20, 210, 3.5),
    {
      kind: 'epoch',
      phase: 'train',
      epoch: 0,
      samples: 300,
      seconds: 1,
      samplesPerSecond: 300,
      metrics: { cost: 3.41234567 },
    },
    { kind: 'epoch', phase: 'infer', epoch: 0, samples: 30, seconds: 1, samplesPerSecond: 300, metrics: { cost: 3.6 } },
    { kind: 'saved', path: 'output/pass-00000', epoch: 0 },
    { kind: 'warning', message: 'one\ntwo' },
    { kind: 'error', code: 'X', message: 'It failed.', where: 'a:1', hint: 'Mend it.' },
  ]
  const lines: string[] = []
  const now = () => new Date(2026, 10, 6, 8, 5, 9, 42)
  const sink = paddleTrainerSink((line) => lines.push(line), { program: 'trainer', pid: 7, now })
  for (const event of events) sink(event)
  expect(lines.join('').replaceAll(/(?<=^[IWE])1106 08:05:09\.042000 7 trainer\] /gm, '| ')).toMatchInlineSnapshot(`
    "I| commandline: oarfish trainer --num_passes=2 --local=1
    I|  Batch=10 samples=110 AvgCost=4 CurrentCost=3.9 Eval:  CurrentEval: 
    I|  Batch=20 samples=210 AvgCost=3.5 CurrentCost=2.95 Eval:  CurrentEval: 
    I|  Pass=0 samples=300 AvgCost=3.41235 Eval: 
    I|  Test samples=30 cost=3.6 Eval: 
    I| Saving parameters to output/pass-00000
    W| one
    W| two
    E| a:1 It failed.
    E| Mend it.
    "
  `)
})
