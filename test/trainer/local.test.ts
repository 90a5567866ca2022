/** @file The recommendation demo on one machine: what it prints, saves, goes on from and answers; and what its mistakes are called. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRun } from '../../src/base/runs/index.ts'
import { exec } from '../fluid/process.testing.ts'
import { openWorkspace, rmse, start, testCosts, type Workspace } from './job.testing.ts'

const SMALL = ['--config_args=size=8,batch_size=240', '--dot_period=0', '--log_period=5']

describe('a run of three passes', () => {
  let workspace: Workspace
  let output: string
  beforeAll(async () => {
    workspace = openWorkspace()
    const run = start(
      'trainer',
      [...SMALL, '--num_passes=3', '--save_dir=./output', '--saving_period=2'],
      workspace.folder,
    )
    expect([await run.ended, run.err]).toEqual([0, ''])
    output = run.out
  })
  afterAll(() => workspace.remove())

  test('prints the lines of the original, and learns', () => {
    expect(output).toMatch(
      /^I\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ trainer\] {2}Batch=5 samples=1440 AvgCost=\S+ CurrentCost=\S+ Eval: /m,
    )
    expect(output.match(/ Pass=\d samples=4320 AvgCost=\S+ Eval: /g)).toHaveLength(3)
    const costs = testCosts(output)
    expect(costs).toHaveLength(3)
    expect(rmse(costs.at(-1)!)).toBeLessThan(rmse(costs[0]!))
  })

  test('saves every second pass and the last', () => {
    expect(readdirSync(join(workspace.folder, 'output'))).toEqual(['pass-00001', 'pass-00002'])
    expect(existsSync(join(workspace.folder, 'output/pass-00002/manifest.json'))).toBe(true)
  })

  test('is recorded in runs/: options, configuration, passes and curves', () => {
    const [name, ...others] = readdirSync(join(workspace.folder, 'runs'))
    const run = readRun(join(workspace.folder, 'runs', name!))!
    expect([others, run.state, run.lead?.role]).toEqual([[], 'done', 'local'])
    expect(run.meta.settings).toMatchObject({ num_passes: 3, save_dir: './output', saving_period: 2 })
    expect(run.meta.source.text).toBe(readFileSync(join(workspace.folder, 'trainer_config.ts'), 'utf8'))
    expect(run.lead).toMatchObject({ samples: 3 * 4320, epoch: 2 })
    expect(run.lead?.evaluation).toBeDefined()
  })

  test('keeps the same lines in log/paddle_trainer.INFO', () => {
    expect(readFileSync(join(workspace.folder, 'log/paddle_trainer.INFO'), 'utf8')).toBe(output)
  })

  test('evaluate.sh names the best of the saved passes', () => {
    const best = execFileSync('sh', ['evaluate.sh'], { cwd: workspace.folder, encoding: 'utf8' })
    expect(best).toMatch(
      /^Best pass is 0000[12], error is \S+, which means a root mean square error of \d\.\d{4} stars\n$/,
    )
  })

  test('--job=test finds the costs that training printed', async () => {
    const args = [...SMALL, '--job=test', '--test_pass=1', '--save_dir=output', '--log_dir=log-test']
    const run = start('trainer', args, workspace.folder)
    expect([await run.ended, run.err]).toEqual([0, ''])
    const [, second, third] = testCosts(output)
    const [again, last] = testCosts(run.out)
    expect(again).toBeCloseTo(second!, 4)
    expect(last).toBeCloseTo(third!, 4)
  })

  test('--start_pass goes on where the pass before ended, and repeats it', async () => {
    const args = [
      ...SMALL,
      '--start_pass=2',
      '--num_passes=1',
      '--save_dir=output',
      '--saving_period=0',
      '--log_dir=log-on',
    ]
    const run = start('trainer', args, workspace.folder)
    expect([await run.ended, run.err]).toEqual([0, ''])
    expect(run.out).toContain('Loading parameters from output/pass-00001')
    expect(testCosts(run.out)[0]).toBeCloseTo(testCosts(output)[2]!, 4)
  })

  test('prediction.ts asks a pass for a score between 0 and 5', async () => {
    // The network must be that of the training: its size is a default of the configuration.
    const config = join(workspace.folder, 'trainer_config.ts')
    writeFileSync(config, readFileSync(config, 'utf8').replace("getConfigArg('size', 256)", "getConfigArg('size', 8)"))
    const run = exec('prediction.ts', ['output/pass-00002', '1', '2'], workspace.folder)
    expect([await run.ended, run.err]).toEqual([0, ''])
    const score = Number(/^Prediction Score is (\S+)$/m.exec(run.out)?.[1])
    expect(score).toBeGreaterThan(0)
    expect(score).toBeLessThanOrEqual(5)
  })
})

test('two threads share each batch, and make the steps of one', async () => {
  const workspace = openWorkspace()
  try {
    const run = (threads: number) =>
      start(
        'trainer',
        [...SMALL, '--num_passes=2', `--trainer_count=${threads}`, `--log_dir=log-${threads}`],
        workspace.folder,
      )
    const [one, two] = [run(1), run(2)]
    expect(await Promise.all([one.ended, two.ended])).toEqual([0, 0])
    expect(testCosts(two.out)).toHaveLength(2)
    for (const [pass, cost] of testCosts(one.out).entries()) expect(testCosts(two.out)[pass]).toBeCloseTo(cost, 3)
  } finally {
    workspace.remove()
  }
})

describe('mistakes', () => {
  let workspace: Workspace
  beforeAll(() => {
    workspace = openWorkspace()
  })
  afterAll(() => workspace.remove())

  const config = (changed: (text: string) => string, file = 'trainer_config.ts') => {
    const text = readFileSync(join(workspace.folder, file), 'utf8')
    const other = `changed-${file}`
    writeFileSync(join(workspace.folder, other), changed(text))
    return other
  }
  const failing = async (...args: readonly string[]) => {
    const run = start('trainer', [...SMALL, '--num_passes=1', ...args], workspace.folder)
    return { code: await run.ended, err: run.err }
  }

  test('all bad options at once, before anything is read', async () => {
    const { code, err } = await failing('--lgo_period=3', '--trainer_id=7')
    expect(code).toBe(2)
    expect(err).toContain('There is no option --lgo_period - did you mean --log_period?')
    expect(err).toContain('--trainer_id=7: a job of --num_gradient_servers=1 has the trainers 0 to 0.')
  })

  test.each<[string, (text: string) => string, string]>([
    ['no settings', (text) => text.replace(/^settings\(.*$/m, ''), 'The configuration has no settings.'],
    [
      'no outputs',
      (text) => text.replace('outputs(regressionCost', 'void (regressionCost'),
      'The configuration has no outputs.',
    ],
    ['no data', (text) => text.replace(/^ {2}defineDataSources\(.*$/m, ''), 'The configuration names no data.'],
    [
      'no provider',
      (text) => text.replace("'data/test.list', process,", "'data/test.list', 'process',"),
      'the third argument is no data provider',
    ],
    [
      'a batch of nothing',
      (text) => text.replace('batchSize,', 'batchSize: 0,'),
      'batchSize must be a whole number from 1 on, got 0.',
    ],
    [
      'an unknown setting',
      (text) => text.replace('batchSize,', 'batchSize, batch_size: 3,'),
      'settings: there is no "batch_size".',
    ],
    [
      'a missing list',
      (text) => text.replace('data/train.list', 'data/trian.list'),
      'There is no such list of data files.',
    ],
    [
      'another size than the data has',
      (text) => text.replace("name: 'rating', size: 1", "name: 'rating', size: 2"),
      'columns',
    ],
    ['a program that throws', (text) => `${text}\nthrow new Error('my own mistake')`, 'my own mistake'],
  ])('%s', async (_, changed, message) => {
    const { code, err } = await failing(`--config=${config(changed)}`)
    expect(err).toContain(message)
    expect(code).toBe(2)
  })

  test('a configuration that is not there, or is Python', async () => {
    expect((await failing('--config=nothing.ts')).err).toContain('There is no configuration nothing.ts.')
    writeFileSync(join(workspace.folder, 'old.py'), 'settings(batch_size=1)\n')
    expect((await failing('--config=old.py')).err).toContain('old.py is a configuration in Python.')
  })

  test('an id beyond its size is named with the file and the sample', async () => {
    config((text) => text.replace('rating: 2 *', 'gender: 99, rating: 2 *'), 'dataprovider.ts')
    const other = config((text) => text.replace('./dataprovider.ts', './changed-dataprovider.ts'))
    const { code, err } = await failing(`--config=${other}`)
    expect(err).toMatch(
      /ratings\.dat\.train-\d\d The data provider failed at sample 1: "gender" is integerValue\(2\), and the provider yielded 99\./,
    )
    expect(code).toBe(2)
  })

  test('a list that names a file which is not there: its line', async () => {
    writeFileSync(join(workspace.folder, 'data/gone.list'), './data/ratings.dat.test\n./data/gone\n')
    const other = config((text) => text.replace('data/train.list', 'data/gone.list'))
    const { code, err } = await failing(`--config=${other}`)
    expect(err).toMatch(/gone\.list:2 There is no data file \.\/data\/gone\./)
    expect(code).toBe(2)
  })

  test('a folder that is no MovieLens data', () => {
    expect(() => execFileSync('sh', ['preprocess.sh', 'data'], { cwd: workspace.folder, stdio: 'pipe' })).toThrow(
      /MovieLens 1M/,
    )
  })
})

test('preprocess.sh makes the sample that lies in data/', () => {
  const workspace = openWorkspace()
  try {
    const run = (...args: readonly string[]) => execFileSync(args[0]!, args.slice(1), { cwd: workspace.folder })
    run(process.execPath, 'data/make_sample.mjs', 'movies')
    run('sh', 'preprocess.sh', 'movies')
    const kept = fileURLToPath(new URL('../../examples/recommendation/data', import.meta.url))
    for (const name of readdirSync(kept))
      expect(readFileSync(join(workspace.folder, 'data', name)).equals(readFileSync(join(kept, name))), name).toBe(true)
  } finally {
    workspace.remove()
  }
})
