/** @file Metrics against plain code over the same samples: alone, of threads, of workers and of ranks. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event, EventOf } from '../../src/base/event/index.ts'
import { createRng, formatUserError, type UserError } from '../../src/base/util/index.ts'
import { type TrainOptions, train } from '../../src/training/driver/index.ts'
import { quiet, TOGETHER } from './ways.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

const root = mkdtempSync(join(tmpdir(), 'oarfish-metrics-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** The prediction is an input, so that what is measured does not depend on what was learned. */
const model = ({ inputs = '', loss = 'mean(cost)', rate = 0.1, metrics = '' }) => `
import { defineModel, metric, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
import { mean, sum } from 'oarfish/nn'
export default defineModel({
  inputs: ({ label, sparse, dense, sampleWeight }) => ({
    click: label('click'), user: sparse('user'), gender: sparse('gender'), p: dense('p', 1), ${inputs}
  }),
  net({ click, p, user }) {
    const logit = nn.linear(p, { name: 'fc', out: 1 })
    const rows = nn.embedding([user], { name: 'rows', dim: 2 })
    const cost = nn.sigmoidCrossEntropy(nn.linear(nn.concat([logit, rows], 1), { name: 'top', out: 1 }), click)
    return { loss: ${loss}, outputs: { predict: p } }
  },
  metrics: ({ outputs: { predict: p } }, { click, user, p: own }) => ({
    auc: metric.auc(p, click), gauc: metric.gauc(p, click, user), logloss: metric.logLoss(p, click),
    copc: metric.copc(p, click), calibration: metric.calibration(p, click), mean_p: metric.mean(own), ${metrics}
  }),
  optimizer: optimizer.sgd({ learningRate: ${rate} }),
})
`

interface Sample {
  readonly click: number
  readonly user: number
  readonly gender: number
  readonly p: number
  readonly w: number
}

function samplesOf(count: number, seed: bigint): Sample[] {
  const rng = createRng(seed)
  return Array.from({ length: count }, () => {
    const p = (1 + rng.below(4094)) / 4096 // on the grid of buckets: areas are exact
    return {
      click: Number(rng.uniform() < p),
      user: 1 + rng.below(17),
      gender: rng.below(3),
      p,
      w: rng.below(5) / 2,
    }
  })
}

const line = ({ click, user, gender, p, w }: Sample) => `click:${click} user:${user} gender:${gender} p:${p} w:${w}\n`
const SAMPLES = { train: samplesOf(360, 1n), test: samplesOf(240, 2n) }

function folderOf(text: string): string {
  const folder = mkdtempSync(join(root, 'job-'))
  for (const [part, samples] of Object.entries(SAMPLES)) {
    mkdirSync(join(folder, part))
    for (const file of [0, 1, 2])
      writeFileSync(
        join(folder, part, `part-${file}`),
        samples
          .filter((_, i) => i % 3 === file)
          .map(line)
          .join(''),
      )
  }
  writeFileSync(join(folder, 'model.ts'), text)
  writeFileSync(
    join(folder, 'config.yaml'),
    'runner:\n  train_data_dir: train\n  test_data_dir: test\n  train_batch_size: 32\n  infer_batch_size: 20\n  model_save_path: ""\n  sync_mode: async\n',
  )
  return folder
}

const load = (folder: string, ...overrides: string[]) =>
  loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })

type Weight = (sample: Sample) => number

function plainAuc(samples: readonly Sample[], weight: Weight): number {
  let [above, all] = [0, 0]
  for (const a of samples.filter(({ click }) => click === 1)) {
    for (const b of samples.filter(({ click }) => click === 0)) {
      above += weight(a) * weight(b) * (a.p > b.p ? 1 : a.p === b.p ? 0.5 : 0)
      all += weight(a) * weight(b)
    }
  }
  return above / all
}

/** What scikit-learn and the papers define, by loops over samples. */
function plainMetrics(samples: readonly Sample[], weight: Weight) {
  const total = (value: (sample: Sample) => number, of = samples) =>
    of.reduce((sum, sample) => sum + weight(sample) * value(sample), 0)
  const all = total(() => 1)
  const users = [...new Set(samples.map(({ user }) => user))]
    .map((user) => samples.filter((own) => own.user === user && weight(own) > 0))
    .filter((own) => new Set(own.map(({ click }) => click)).size === 2)
  const both = users.reduce((sum, own) => sum + total(() => 1, own), 0)
  return {
    auc: plainAuc(samples, weight),
    gauc: users.reduce((sum, own) => sum + total(() => 1, own) * plainAuc(own, weight), 0) / both,
    logloss: total(({ click, p }) => -Math.log(click === 1 ? p : 1 - p)) / all,
    copc: total(({ click }) => click) / total(({ p }) => p),
    calibration: total(({ p }) => p) / total(({ click }) => click),
    mean_p: total(({ p }) => p) / all,
  }
}

async function measured(
  way: { train(options: TrainOptions): ReturnType<typeof train> },
  config: TrainOptions['config'],
): Promise<Record<'train' | 'infer', EventOf<'epoch'>>> {
  const events: Event[] = []
  await way.train({ config, emit: (event) => events.push(event) })
  const of = (phase: 'train' | 'infer') =>
    events.find((event): event is EventOf<'epoch'> => event.kind === 'epoch' && event.phase === phase)!
  return { train: of('train'), infer: of('infer') }
}

function expectMetrics(event: EventOf<'epoch'>, samples: readonly Sample[], weight: Weight): void {
  for (const [name, value] of Object.entries(plainMetrics(samples, weight)))
    expect(event.metrics[name], name).toBeCloseTo(value, 5)
}

describe.each(Object.entries(TOGETHER))('%s', (_name, way) => {
  test('metrics are those of all samples, and AUC by slice is shown', async () => {
    const folder = folderOf(model({}))
    const config = load(folder, 'runner.slices=[gender]', 'runner.thread_num=2', 'runner.infer_thread_num=2')
    const events = await measured(way, config)
    expectMetrics(events.train, SAMPLES.train, () => 1)
    expectMetrics(events.infer, SAMPLES.test, () => 1)
    const slices = events.infer.slices!['auc by gender']!
    expect(slices.map(({ value }) => value).sort()).toEqual(['0', '1', '2'])
    for (const { value, auc, samples } of slices) {
      const own = SAMPLES.test.filter(({ gender }) => String(gender) === value)
      expect(samples).toBe(own.length)
      expect(auc).toBeCloseTo(
        plainAuc(own, () => 1),
        6,
      )
    }
    expect(slices[0]!.samples).toBeGreaterThanOrEqual(slices[2]!.samples)
  })

  test('with sampleWeight all of them are weighted', async () => {
    const metrics = 'plain: metric.auc(p, click, { weight: false })'
    const folder = folderOf(model({ inputs: "w: sampleWeight('w')", metrics }))
    const { infer } = await measured(way, load(folder, 'runner.thread_num=2', 'runner.slices=[gender]'))
    expectMetrics(infer, SAMPLES.test, ({ w }) => w)
    for (const { value, samples, weighted } of infer.slices!['auc by gender']!) {
      const own = SAMPLES.test.filter(({ gender, p }) => String(gender) === value && p >= 0 && p <= 1)
      expect(weighted).toBe(true)
      expect(samples).toBeCloseTo(
        own.reduce((sum, { w }) => sum + w, 0),
        3,
      )
    }
    expect(infer.slices!['plain by gender']![0]).not.toHaveProperty('weighted')
    expect(infer.metrics['plain']).toBeCloseTo(
      plainAuc(SAMPLES.test, () => 1),
      6,
    )
  })
})

describe('a weighted loss', () => {
  const evaluated = async (text: string) => {
    const { evaluation } = await train({ config: load(folderOf(text)), emit: quiet })
    return evaluation!['loss']!
  }

  test('is the mean of weight times cost, in its gradients too', async () => {
    // Weights of 3 at a third of the rate take the same steps.
    const weighted = model({ inputs: "three: sampleWeight('three')", rate: 0.1 })
    const folder = folderOf(weighted)
    for (const part of ['train', 'test'] as const)
      for (const file of [0, 1, 2]) {
        const own = SAMPLES[part].filter((_, i) => i % 3 === file)
        writeFileSync(join(folder, part, `part-${file}`), own.map((sample) => `three:3 ${line(sample)}`).join(''))
      }
    const { evaluation } = await train({ config: load(folder), emit: quiet })
    expect(evaluation!['loss']! / 3).toBeCloseTo(await evaluated(model({ rate: 0.3 })), 5)
  })

  test('takes the cost of each sample as well as its mean', async () => {
    const inputs = "w: sampleWeight('w')"
    const [byMean, bySample] = [await evaluated(model({ inputs })), await evaluated(model({ inputs, loss: 'cost' }))]
    expect(bySample).toBe(byMean)
    expect(byMean).not.toBeCloseTo(await evaluated(model({})), 3)
  })
})

describe('what cannot be measured is refused', () => {
  const refusal = async (text: string, ...overrides: string[]) => {
    const config = load(folderOf(text), ...overrides)
    const error = await train({ config, emit: quiet }).then(
      () => expect.fail('it was trained'),
      (error: UserError) => error,
    )
    return formatUserError(error).replaceAll(/\S*oarfish-metrics-\w+\/job-\w+\//g, '')
  }

  test.each([
    ['a slice that is no slot', model({}), ['runner.slices=[gendre]'], /slices.*"gendre"; did you mean gender\?/s],
    ['a slice of a number', model({}), ['runner.slices=[p]'], /declare it as sparse\('p'\)/],
    [
      'a loss that weights do not reach',
      model({ inputs: "w: sampleWeight('w')", loss: 'sum(cost)' }),
      [],
      /model\.ts:\d+.*\[\].*is no mean over samples/s,
    ],
    ['two weights', model({ inputs: "w: sampleWeight('w'), v: sampleWeight('v')" }), [], /declared twice/],
    [
      'a group that is no whole number',
      model({ metrics: 'g: metric.gauc(p, click, own)' }),
      [],
      /model\.ts:\d+.*group is float32 \[B, 1\]/s,
    ],
    [
      'an unknown option',
      model({ metrics: 'g: metric.auc(p, click, { wieght: p } as never)' }),
      [],
      /no option "wieght".*Did you mean weight/s,
    ],
    ['a bound of nothing', model({ metrics: 'g: metric.gauc(p, click, user, { entries: 0 })' }), [], /entries is 0/],
  ])('%s', async (_what, text, overrides, expected) => {
    expect(await refusal(text, ...overrides)).toMatch(expected)
  })

  test('a weight below 0, with its place', async () => {
    const folder = folderOf(model({ inputs: "w: sampleWeight('w')" }))
    writeFileSync(
      join(folder, 'train', 'part-0'),
      SAMPLES.train
        .slice(0, 40)
        .map((own, i) => line({ ...own, w: i === 33 ? -1 : 1 }))
        .join(''),
    )
    await expect(train({ config: load(folder), emit: quiet })).rejects.toThrow(
      /A sample weighs -1.*sample 1 of batch 1, epoch 0/,
    )
  })
})
