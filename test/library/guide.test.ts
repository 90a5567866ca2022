/** @file docs/guide/library.md: its programs run as they stand, in their order, in a user's project, and check under both compilers. */
import { readFileSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runNode, typeErrors, userProject } from './project.testing.ts'

const text = readFileSync(fileURLToPath(new URL('../../docs/guide/library.md', import.meta.url)), 'utf8')
const programs = [...text.matchAll(/```ts\n\/\/ ([\w-]+\.ts)\n(.*?)```/gs)].map(([, name, code]) => ({
  name: name!,
  code: code!,
}))

let folder: string
beforeAll(async () => {
  folder = await userProject()
  for (const { name, code } of programs) await writeFile(join(folder, name), code)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What must compile beside the page's programs, and what must not. */
const USER = `
import { BaseRecDataset, type Feeds, metric, type NetOutput, optimizer, train, z } from 'oarfish'
import { DistributedStrategy, fleet } from 'oarfish/fleet'
import * as fluid from 'oarfish/fluid'
import * as nn from 'oarfish/nn'
import { type DataProvider, fcLayer } from 'oarfish/trainer'
import { openPredictor } from 'oarfish'
import type { Model } from './exported/model.d.ts'

export const hyperParameters = z.object({ dim: z.int().default(8) })
export class StaticModel {
  createFeeds(feeds: Feeds) {
    return { click: feeds.label('click'), user: feeds.sparse('user') }
  }
  net({ click, user }: ReturnType<StaticModel['createFeeds']>): NetOutput {
    const logit = nn.linear(nn.embedding([user], { name: 'user', dim: 8 }), { name: 'fc', out: 1 })
    const predict = nn.sigmoid(logit)
    return { loss: nn.mean(nn.sigmoidCrossEntropy(logit, click)), metrics: { auc: metric.auc(predict, click) }, outputs: { predict } }
  }
  createOptimizer() {
    return optimizer.adam({ learningRate: 0.01 })
  }
}
export class RecDataset extends BaseRecDataset {}
export const kinds = [DistributedStrategy, fleet.init, fluid.layers.fc, fcLayer] as const
export type Provider = DataProvider
const predictor = await openPredictor<Model>({ model: 'exported' })
// @ts-expect-error: slots are missing
await predictor.score([{ 1: 5 }])
// @ts-expect-error: the model has no such output
;(await predictor.score([])).outputs.other
// @ts-expect-error: not a key of config.yaml
await train({ config: 'config.yaml', set: { runner: { epoch: 2 } } })
// @ts-expect-error: internals are not exported
import { ROW_STEP } from 'oarfish/nn'
export { ROW_STEP }
`

const SAYS: Readonly<Record<string, readonly RegExp[]>> = {
  'first.ts': [/^train auc 0\.\d{4}, test auc 0\.\d{4}, saved in output\/1\n/, /^epoch 0: 0\.\d{4}$/m],
  'watch.ts': [/^train epoch 0: loss 0\.\d{4}$/m, /^infer epoch 1: loss 0\.\d{4}$/m, /done\n$/],
  'score.ts': [/^epoch 1 in exported: \w+ has \d+ rows\n/, /^score [01]\.\d{4}\n$/m],
  'typed.ts': [/^predict: 1 x \d\n/, /100 lines scored\n$/],
  'serve.ts': [/^8 scores over HTTP\n$/],
  'job.ts': [/^with servers: auc 0\.\d{4}$/m, /^among ranks: auc 0\.\d{4}$/m],
  'experiment.ts': [/^deep, epoch 1: auc 0\.\d{4}$/m, /^best: /m, /100 scores from 0\.\d\d to [01]\.\d\d\n$/],
  'wrong.ts': [/^CONFIG_\w+: .*runner\.epochs/],
}

test('the page has the programs that are tested here, and the experiment fits 60 lines', () => {
  expect(programs.map(({ name }) => name)).toEqual(Object.keys(SAYS))
  const { code } = programs.find(({ name }) => name === 'experiment.ts')!
  expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
})

test.each(Object.entries(SAYS))('%s runs as it stands', async (name, says) => {
  const { code, out, err } = await runNode(['node_modules/oarfish/bin/oarfish.js', 'exec', name], folder)
  expect(code, out + err).toBe(0)
  for (const pattern of says) expect(out).toMatch(pattern)
})

test('the experiment left an export and a score for each line', async () => {
  expect((await readFile(join(folder, 'experiment/scores.txt'), 'utf8')).trimEnd().split('\n')).toHaveLength(100)
})

test.each(['typescript', 'typescript-5'] as const)("a user's files check under %s", async (compiler) => {
  await writeFile(join(folder, 'user.ts'), USER)
  expect(await typeErrors(compiler, folder)).toBe('')
})
