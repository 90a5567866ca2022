/** @file What launchers start: `oarfish exec` and `oarfish tool` in processes of their own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeSlotText } from '../oarfish.testing.ts'
import { eventsOf, ofKind, run } from './launch.testing.ts'

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'oarfish-programs-'))
})
afterAll(() => rm(cwd, { recursive: true, force: true }))

const exec = async (text: string, ...args: string[]) => {
  await writeFile(join(cwd, 'program.ts'), text)
  return await run('oarfish', ['exec', 'program.py', ...args], { cwd })
}

describe('oarfish exec', () => {
  test("runs TypeScript in which oarfish means this package, with the program's own arguments", async () => {
    const { code, out, err } = await exec(
      `import { optimizer } from 'oarfish'
       const words: readonly string[] = process.argv.slice(2)
       console.log(typeof optimizer.adam, words.join(' '))`,
      '-m',
      'config.yaml',
      '--json',
    )
    expect([code, out, err]).toEqual([0, 'function -m config.yaml --json\n', ''])
  })

  test('waits for what the program left running and ends with its exit code', async () => {
    const { code, out } = await exec(`setTimeout(() => { console.log('late'); process.exitCode = 7 }, 2500)`)
    expect([code, out]).toEqual([7, 'late\n'])
  })

  test("a program's failure is shown in its own words, not as a bug of oarfish", async () => {
    const { code, err } = await exec(`function broken() { throw new TypeError('my own mistake') }\nbroken()`)
    expect(code).toBe(1)
    expect(err).toMatch(/^TypeError: my own mistake\n +at broken .*program\.ts:1/)
    expect(err).not.toContain('bug in oarfish')
  })

  test('a program that is not there is refused', async () => {
    const { code, err } = await run('oarfish', ['exec', 'nowhere.ts'], { cwd })
    expect([code, err]).toEqual([2, 'There is no nowhere.ts.\n  The path is relative to this folder.\n'])
  })
})

describe('oarfish tool', () => {
  const MODEL = `import { optimizer } from 'oarfish'
import { mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
    export class StaticModel {
      createFeeds({ label, dense }) { return { click: label('click'), x: dense('dense_feature', 13) } }
      net({ click, x }) { return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(x, { name: 'sum', out: 1 }), click)) } }
      createOptimizer() { return optimizer.sgd({ learningRate: 0.1 }) }
    }`
  beforeAll(async () => {
    await writeSlotText(join(cwd, 'data'), 40)
    await writeFile(join(cwd, 'static_model.ts'), MODEL)
    const runner =
      '{ train_data_dir: data, test_data_dir: data, train_batch_size: 10, infer_batch_size: 10, epochs: 1, model_save_path: out }'
    await writeFile(join(cwd, 'config.yaml'), `runner: ${runner}\nhyper_parameters: {}\n`)
  })
  const args = ['-m', 'config.yaml', '-o', 'runner.epochs=1', '--json']

  test("static_ps_trainer without a job trains alone and says so in PaddleRec's words", async () => {
    const result = await run('oarfish', ['tool', 'static_ps_trainer', ...args], { cwd })
    expect([result.code, result.err]).toEqual([0, ''])
    const events = eventsOf(result)
    expect(ofKind(events, 'warning').map(({ message }) => message)).toContain(
      'Not Find Distributed env, Change To local train mode. If you want train with fleet, please use [fleetrun] command.',
    )
    expect(events.at(-1)).toMatchObject({ kind: 'done', samples: 40 })
  })

  test('static_infer evaluates what was saved; infer says that it uses the static model', async () => {
    await run('oarfish', ['tool', 'static_trainer', ...args], { cwd })
    const result = await run(
      'oarfish',
      ['tool', 'infer', '-m', 'config.yaml', '-o', 'runner.infer_end_epoch=1', '--json'],
      { cwd },
    )
    expect(result.code).toBe(0)
    expect(eventsOf(result)[0]).toMatchObject({ kind: 'notice', message: expect.stringContaining('static_model.ts') })
    expect(eventsOf(result).at(-1)).toMatchObject({ kind: 'done' })
  })

  test.each([
    ['static_ps_online_trainer', 'runner.start_day is missing: static_ps_online_trainer trains day by day.'],
    ['static_gpubox_trainer', 'static_gpubox_trainer trains with runner.sync_mode: gpubox, and the config says'],
    ['static_triner', 'tool: expected trainer | static_trainer | .* - did you mean "static_trainer"\\?'],
  ])('%s is refused with what there is', async (name, message) => {
    const { code, err } = await run('oarfish', ['tool', name, '-m', 'config.yaml'], { cwd })
    expect(code).toBe(2)
    expect(err).toMatch(new RegExp(message))
  })

  test('a server whose environment is wrong says what is missing', async () => {
    const env = { PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:7000', PADDLE_TRAINERS_NUM: '1', TRAINING_ROLE: 'PSERVER' }
    const { code, err } = await run('oarfish', ['tool', 'static_ps_trainer', '-m', 'config.yaml'], { cwd, env })
    expect(code).toBe(2)
    expect(err).toContain(
      'Can not find PADDLE_PORT, please check your environment.\n  PADDLE_PORT is the port of this process',
    )
  })
})
