/** @file The demo on MovieLens-100k, beside what test/python/record_recommendation.py recorded with PyTorch; test/netns/ssh-movielens.test.ts has four hosts. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openWorkspace, rmse, start, testCosts, type Workspace } from './job.testing.ts'

interface Recorded {
  readonly size: number
  readonly passes: number
  /** Test RMSE of the best pass, mean of three seeds. */
  readonly best: number
}

const RECORDED = JSON.parse(
  readFileSync(new URL('../fixtures/recommendation.json', import.meta.url), 'utf8'),
) as Recorded
const { OARFISH_DATA } = process.env

vi.setConfig({ testTimeout: 900_000 })

describe.skipIf(!OARFISH_DATA)('on OARFISH_DATA/ml-100k', () => {
  let workspace: Workspace
  beforeAll(() => {
    workspace = openWorkspace()
    execFileSync('sh', ['preprocess.sh', join(OARFISH_DATA!, 'ml-100k')], { cwd: workspace.folder })
  })
  afterAll(() => workspace.remove())

  test("one machine reaches PyTorch's error", async () => {
    const size = `--config_args=size=${RECORDED.size},batch_size=1600`
    const periods = ['--dot_period=0', '--log_period=0']
    const alone = start('trainer', [size, `--num_passes=${RECORDED.passes}`, ...periods], workspace.folder)
    expect([await alone.ended, alone.err]).toEqual([0, ''])
    expect(rmse(Math.min(...testCosts(alone.out)))).toBeLessThan(RECORDED.best + 0.01)
  })

  test('as the guide types it: run.sh trains ten passes, evaluate.sh names the best, prediction.ts asks the last', () => {
    const PATH = [fileURLToPath(new URL('../../bin/path', import.meta.url)), process.env['PATH']].join(delimiter)
    const options = { cwd: workspace.folder, encoding: 'utf8', env: { ...process.env, PATH } } as const
    const size = `size=${RECORDED.size},batch_size=1600`
    const printed = execFileSync('sh', ['run.sh', `--config_args=${size}`], options)
    const errors = testCosts(printed).map(rmse)
    expect(errors).toHaveLength(10)
    const best = Math.min(...errors)
    expect(best).toBeLessThan(RECORDED.best + 0.01)
    const pass = String(errors.indexOf(best)).padStart(5, '0')
    expect(execFileSync('sh', ['evaluate.sh'], options)).toMatch(
      new RegExp(`^Best pass is ${pass}, .* root mean square error of ${best.toFixed(4)} stars\n$`),
    )
    const words = ['exec', 'prediction.ts', 'output/pass-00009', `--config_args=${size}`, '1', '2']
    const score = Number(/^Prediction Score is (\S+)$/m.exec(execFileSync('oarfish', words, options))?.[1])
    expect(score).toBeGreaterThan(0)
    expect(score).toBeLessThanOrEqual(5)
  })
})
