/** @file PaddleRec 1.x's metric classes in a run: their lines agree with what every batch computed. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadRunConfig } from '../../src/base/config/index.ts'
import type { Event, EventOf } from '../../src/base/event/index.ts'
import { runModes } from '../../src/paddle/paddlerec-v1/index.ts'
import { oarfish } from '../oarfish.testing.ts'

const MODEL = `
import { metric } from 'oarfish'
import { mean, slice, softmax } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export class Model {
  net({ label, sparse, dense }) {
    const logits = nn.linear(dense.x, { name: 'fc', out: 3 })
    const predict = softmax(logits)
    const metrics = {
      AUC: metric.aucReport(slice(predict, 1, 0, 2), label),
      PR: metric.precisionRecall(predict, label, 3),
      Recall: metric.recallK(predict, label, 2),
      PN: metric.posNegRatio(slice(logits, 1, 0, 1), slice(logits, 1, 1, 2)),
    }
    return { loss: mean(nn.softmaxCrossEntropy(logits, label)), metrics, outputs: { predict } }
  }
}
`
const CONFIG = `workspace: "./"
mode: train
runner:
- { name: train, class: train, epochs: 2, print_interval: 2, save_checkpoint_path: saved }
- { name: infer, class: infer, init_model_path: saved/1, runner_result_dump_path: dump.json }
dataset:
- { name: data, batch_size: 4, data_path: "{workspace}/data", sparse_slots: click, dense_slots: "x:2" }
phase:
- { name: phase1, model: "{workspace}/model.py", dataset_name: data, thread_num: 2 }
hyper_parameters:
  optimizer: { class: SGD, learning_rate: 0.1 }
`

const folder = mkdtempSync(join(tmpdir(), 'oarfish-metrics-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('every report is over all samples of the pass, whatever the threads', async () => {
  mkdirSync(join(folder, 'data'))
  const labels = Array.from({ length: 40 }, (_, i) => (i * 7) % 3)
  const lines = labels.map((label, i) => `click:${label} x:${((i * 37) % 11) / 10} x:${((i * 13) % 7) / 5 - label}`)
  writeFileSync(join(folder, 'data/part-0'), `${lines.join('\n')}\n`)
  writeFileSync(join(folder, 'model.ts'), MODEL)
  writeFileSync(join(folder, 'config.yaml'), CONFIG.replace('mode: train', 'mode: [train, infer]'))
  const events: Event[] = []
  await runModes({ config: loadRunConfig({ path: 'config.yaml', cwd: folder }), emit: (event) => events.push(event) })
  const { reports, metrics } = events.findLast((event): event is EventOf<'epoch'> => event.kind === 'epoch')!
  const scores = predictions()
  const best = scores.map((row) => row.indexOf(Math.max(...row)))
  const count = (holds: (i: number) => boolean) => labels.filter((_, i) => holds(i)).length
  const classes = [0, 1, 2].map((c) => {
    const tp = count((i) => best[i] === c && labels[i] === c)
    const [fp, fn] = [count((i) => best[i] === c) - tp, count((i) => labels[i] === c) - tp]
    return `[${tp} ${fp} ${40 - tp - fp - fn} ${fn}]`
  })
  expect(reports!['PR']).toContain(`[TP, FP, TN, FN]=[${classes.join(' ')}]; precision_recall_f1=[0.`)
  const hits = count((i) => scores[i]!.filter((score) => score > scores[i]![labels[i]!]!).length < 2)
  expect(reports!['Recall']).toBe(`InsCnt=40 RecallCnt=${hits} Acc(Recall@2)=${hits / 40}`)
  const right = count((i) => scores[i]![0]! > scores[i]![1]!)
  expect(reports!['PN']).toBe(`RightCnt=${right} WrongCnt=${40 - right} PN=${(right + 1) / (41 - right)}`)
  expect(reports!['AUC']).toMatch(new RegExp(`^AUC=${metrics['AUC.auc']!.toFixed(6)} BUCKET_ERROR=.* Ins number=40$`))
})

test('the line that ends an epoch has them', async () => {
  writeFileSync(join(folder, 'config.yaml'), CONFIG)
  const { code, out, err } = await oarfish(['run', '-m', 'config.yaml'], folder)
  expect({ code, err: err.includes('Error') }).toEqual({ code: 0, err: false })
  expect(out).toMatch(
    /^epoch 1 done, use time: [\d.e-]+, global metrics: loss=\[[\d.]+\], AUC=0\.\d{6} .*, InsCnt=40 RecallCnt=\d+ Acc\(Recall@2\)=[\d.]+, RightCnt=/m,
  )
})

test('a progress line has the names and values that PaddleRec shows on the way', async () => {
  const { err } = await oarfish(['run', '-m', 'config.yaml'], folder)
  const line = err.split('\n').find((text) => text.includes('epoch: 0,  batch: 2,'))!
  const number = String.raw`\[[\d.e-]+\]`
  const shown = [
    `AUC: ${number}, BATCH_AUC: ${number}`,
    String.raw`precision_recall_f1: \[([\d.]+ ?){6}\], \[TP FP TN FN\]: \[(\[([\d.]+ ?){4}\] ?){3}\]`,
    String.raw`InsCnt: ${number}, RecallCnt: ${number}, Acc\(Recall@2\): ${number}`,
    `WrongCnt: ${number}, RightCnt: ${number}, PN: ${number}`,
  ]
  expect(line).toMatch(new RegExp(`, loss: ${number}, ${shown.join(', ')}$`))
})

function predictions(): number[][] {
  const batches = JSON.parse(readFileSync(join(folder, 'dump.json'), 'utf8')) as { predict: number[][] }[]
  return batches.flatMap(({ predict }) => predict)
}
