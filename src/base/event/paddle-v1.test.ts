import { expect, test } from 'vitest'
import type { Event } from './event.ts'
import { batch, epoch } from './example.testing.ts'
import { paddleV1Sink } from './paddle-v1.ts'

const START: Event = {
  kind: 'start',
  command: 'train',
  model: 'model.ts',
  settings: { 'runner.name': 'single_cpu_train', 'phase.name': 'phase1' },
}

/** What both streams get, in order; each event comes a second after the one before. */
function printed(events: readonly Event[]): string {
  const lines: string[] = []
  let seconds = 0
  const sink = paddleV1Sink({
    out: (text) => lines.push(`out ${text}`),
    err: (text) => lines.push(`err ${text}`),
    now: () => new Date(2026, 0, 31, 8, 5, seconds++),
  })
  for (const event of events) sink(event)
  return lines.join('')
}

test('a training run has the lines of PaddleRec 1.x, each on its stream', () => {
  const events: Event[] = [
    START,
    { kind: 'epochStart', epoch: 0, files: 1, bytes: 10 },
    batch({ batch: 0 }),
    batch({ batch: 10 }),
    batch({
      batch: 20,
      metrics: { loss: 0.5, 'r.hit': 0.25 },
      reports: { r: 'InsCnt=4 RecallCnt=1 Acc(Recall@20)=0.25' },
      shown: { BATCH_AUC: [0.5], InsCnt: [4], '[TP FP TN FN]': [[1, 0, 2, 1]] },
    }),
    epoch({ seconds: 5.25 }),
    { kind: 'saved', path: 'increment_dnn/1', epoch: 1 },
    { kind: 'saved', path: 'step/epoch_1_batch_20', epoch: 1, batch: 20 },
    { kind: 'done', samples: 4, seconds: 1, samplesPerSecond: 4, metrics: {} },
  ]
  expect(printed(events)).toMatchInlineSnapshot(`
    "out PaddleRec: Runner single_cpu_train Begin
    out Executor Mode: train
    out processor_register begin
    out Running SingleInstance.
    out Running SingleNetwork.
    out Running SingleStartup.
    err 2026-01-31 08:05:04,000 - INFO: 	[Train],  epoch: 0,  batch: 10, time_each_interval: 2.00s, loss: [0.5123457], auc: [0.712345]
    err 2026-01-31 08:05:05,000 - INFO: 	[Train],  epoch: 0,  batch: 20, time_each_interval: 1.00s, loss: [0.5], BATCH_AUC: [0.5], InsCnt: [4.], [TP FP TN FN]: [[1. 0. 2. 1.]]
    out epoch 0 done, use time: 5.25, global metrics: loss=[0.5], auc=[0.7234567]
    err 2026-01-31 08:05:07,000 - INFO: 	save epoch_id:1 model into: "increment_dnn/1"
    err 2026-01-31 08:05:08,000 - INFO: 	save epoch_id:1, batch_id:20 model into: "step/epoch_1_batch_20"
    out PaddleRec Finish
    "
  `)
})

test('an evaluation names its phase and the folder of the model; a runner begins once', () => {
  const infer: Event = { ...START, command: 'infer' } as Event
  const evaluation = epoch({ phase: 'infer', seconds: 2, metrics: { auc: 0.5, 'r.hit': 1 }, reports: { r: 'words' } })
  const events: Event[] = [
    infer,
    { kind: 'loaded', path: 'increment_dnn/3', epoch: 3 },
    batch({ phase: 'infer', batch: 4 }),
    evaluation,
    infer,
  ]
  expect(printed(events)).toMatchInlineSnapshot(`
    "out PaddleRec: Runner single_cpu_train Begin
    out Executor Mode: infer
    out processor_register begin
    out Running SingleInstance.
    out Running SingleNetwork.
    out Running SingleInferStartup.
    out load persistables from increment_dnn/3
    err 2026-01-31 08:05:03,000 - INFO: 	[Infer] batch: 4, time_each_interval: 3.00s, loss: [0.5123457], auc: [0.712345]
    out Infer phase1 of epoch 3 done, use time: 2, global metrics: auc=[0.5], words
    "
  `)
})

test('a table is 100 columns wide, cuts long values and has the words of Python', () => {
  const values = { 'runner.a.epochs': 4, debug: false, mode: ['a', 'b'], path: `/far/${'x'.repeat(60)}/end` }
  const lines = printed([{ kind: 'table', title: 'paddlerec Global Envs', values }])
    .split('\n')
    .map((line) => line.slice(4))
  expect(lines.slice(1, 9).every(({ length }) => length === 100)).toBe(true)
  expect(lines.map((line) => line.trimEnd())).toMatchInlineSnapshot(`
    [
      "",
      "====================================================================================================",
      "            paddlerec Global Envs                 Value",
      "----------------------------------------------------------------------------------------------------",
      "runner.a.epochs                                   4",
      "debug                                             False",
      "mode                                              ['a', 'b']",
      "path                                              ... xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/end",
      "====================================================================================================",
      "",
      "",
    ]
  `)
})
