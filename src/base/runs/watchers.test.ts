/** @file What a run tells Prometheus and TensorBoard, and that neither ends it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { batch, epoch, START } from '../event/example.testing.ts'
import type { Event } from '../event/index.ts'
import { openMetrics } from './metrics-port.ts'
import { guarded } from './recorder.ts'
import { openTensorBoardFile } from './tensorboard.ts'
import { TrainedCount } from './trained-count.ts'
import { addressOf, openWatchers } from './watchers.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-watchers-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const EVENTS: readonly Event[] = [
  START,
  batch({ batch: 9, samples: 5120, metrics: { loss: 0.5, auc: 0.7 } }),
  batch({ batch: 19, samples: 10_240, metrics: { loss: 0.4, auc: 0.72 } }),
  batch({ epoch: 1, batch: 9, samples: 5120, metrics: { loss: 0.3, auc: 0.74 } }),
  epoch({
    phase: 'infer',
    epoch: 1,
    metrics: { auc: 0.73 },
    calibration: {
      auc: [
        { to: 0.25, samples: 300, predicted: 0.1, happened: 0.12 },
        { to: 1, samples: 100, predicted: 0.5, happened: 0.45 },
      ],
    },
  }),
  { kind: 'warning', message: 'log loss rises' },
]

test('an event that cannot be recorded is said once, and the run goes on', () => {
  const said: Event[] = []
  const add = guarded(
    () => {
      throw new Error('no column')
    },
    (event) => said.push(event),
  )
  for (const event of EVENTS) add(event)
  expect(said).toEqual([{ kind: 'warning', message: 'This run is not recorded whole: no column' }])
})

test('the end of an epoch counts too, and what an earlier process trained of it does not', () => {
  const trained = new TrainedCount({ batches: 100, samples: 1000 })
  const before = { batches: 5, samples: 50 }
  trained.add(batch({ epoch: 1, batch: 9, samples: 100, before }))
  expect(trained.total).toEqual({ batches: 105, samples: 1050 })
  trained.add(batch({ phase: 'infer', epoch: 1, batch: 3, samples: 30 }))
  trained.add(epoch({ epoch: 1, samples: 9999, own: { batches: 13, samples: 128 }, before }))
  trained.add(epoch({ epoch: 2, own: { batches: 4, samples: 40 } })) // too short for a printed batch
  expect(trained.total).toEqual({ batches: 112, samples: 1118 })
})

test('Prometheus finds counts, rates and metrics under names with their units', async () => {
  const metrics = await openMetrics({ host: '127.0.0.1', port: 0, labels: { run: 'x', role: 'worker', rank: '1' } })
  for (const event of EVENTS) metrics.add(event)
  const response = await fetch(`http://127.0.0.1:${metrics.port}/metrics`)
  const text = await response.text()
  const value = (name: string) => Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1])
  expect([value('oarfish_samples_total'), value('oarfish_batches_total'), value('oarfish_warnings_total')]).toEqual([
    15_360, 30, 1,
  ])
  expect(text).toContain('oarfish_metric{name="auc",phase="test",run="x",role="worker",rank="1"} 0.73')
  for (const [, name, kind] of text.matchAll(/^# TYPE (oarfish_\w+) (\w+)$/gm))
    expect([name, kind === 'counter']).toEqual([name, name!.endsWith('_total')])
  expect((await fetch(`http://127.0.0.1:${metrics.port}/`)).status).toBe(404)
  metrics.close()
})

test('a port in use is a warning; servers have the first ports and workers those after them', async () => {
  const taken = await openMetrics({ host: '127.0.0.1', port: 0, labels: {} })
  const said: Event[] = []
  const env = {
    OARFISH_METRICS_PORT: String(taken.port - 2),
    PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:1,127.0.0.1:2',
    TRAINING_ROLE: 'TRAINER',
    PADDLE_TRAINER_ID: '0',
    PADDLE_TRAINERS_NUM: '1',
  }
  const config = { config: { runner: {} } } as never
  expect(await openWatchers({ config, env, emit: (event) => said.push(event) }, undefined)).toEqual([])
  expect(said).toMatchObject([{ kind: 'warning', message: expect.stringContaining(`127.0.0.1:${taken.port}`) }])
  taken.close()
  expect(addressOf('0.0.0.0:9100')).toEqual({ host: '0.0.0.0', port: 9100 })
  for (const wrong of ['', 'nine', '99999', 'host:']) expect(() => addressOf(wrong)).toThrow('is no port')
})

async function written(): Promise<string> {
  const own = join(folder, 'tensorboard')
  rmSync(own, { recursive: true, force: true })
  const writer = await openTensorBoardFile(own, (error) => {
    throw error
  })
  for (const [i, event] of EVENTS.entries()) writer.add(event, 1000 * i)
  writer.close()
  return own
}

test('event files begin with their version, and their records follow each other to the last byte', async () => {
  const own = await written()
  const bytes = readFileSync(join(own, readdirSync(own)[0]!))
  expect(bytes.subarray(12, 40).toString('latin1')).toContain('brain.Event:2')
  let [at, records] = [0, 0]
  for (; at < bytes.length; records++) at += 16 + Number(bytes.readBigUInt64LE(at))
  expect([at, records]).toEqual([bytes.length, 1 + 1 + 3 + 2 + 1])
})

const PYTHON = process.env['OARFISH_TENSORBOARD_PYTHON'] ?? 'python3'
const hasTensorBoard = spawnSync(PYTHON, ['-c', 'import tensorboard']).status === 0

test.skipIf(!hasTensorBoard)(
  'the Python package tensorboard reads the same back (needs: pip install tensorboard)',
  async () => {
    const program = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1]).Reload()
scalars = {tag: [(e.step, round(e.value, 4)) for e in a.Scalars(tag)] for tag in a.Tags()['scalars']}
texts = {tag: a.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in a.Tags()['tensors']}
histograms = {tag: [(e.step, list(e.histogram_value.bucket_limit), list(e.histogram_value.bucket)) for e in a.Histograms(tag)] for tag in a.Tags()['histograms']}
print(json.dumps({'scalars': scalars, 'texts': texts, 'histograms': histograms}))`
    const { scalars, texts, histograms } = JSON.parse(
      execFileSync(PYTHON, ['-c', program, await written()], { encoding: 'utf8' }),
    )
    expect(scalars['train/auc']).toEqual([
      [10, 0.7],
      [20, 0.72],
      [30, 0.74],
    ])
    expect(scalars['test/auc']).toEqual([[1, 0.73]])
    expect(histograms).toEqual({ 'test/predictions of auc': [[1, [0.25, 1], [300, 100]]] })
    expect(texts['settings/text_summary'] ?? texts['settings']).toContain('| runner.epochs | 2 |')
  },
)
