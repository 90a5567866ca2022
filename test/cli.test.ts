/** @file The command line in a process of its own: exit codes, streams and signals, which no in-process test can show. */
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oarfish, writeSlotText } from './oarfish.testing.ts'

const CONFIG = `runner:
  train_data_dir: "data"
  train_batch_size: 10
  print_interval: 1
hyper_parameters: {}
`
const MODEL = `import { optimizer } from 'oarfish'
import { mean } from 'oarfish/nn'
import * as nn from 'oarfish/nn'
export class StaticModel {
  createFeeds({ label, dense }) { return { click: label('click'), x: dense('dense_feature', 13) } }
  net({ click, x }) { return { loss: mean(nn.sigmoidCrossEntropy(nn.linear(x, { name: 'sum', out: 1 }), click)) } }
  createOptimizer() { return optimizer.sgd({ learningRate: 0.1 }) }
}
`

describe('oarfish train', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-cli-'))
    await writeFile(join(folder, 'config.yaml'), CONFIG)
    await writeFile(join(folder, 'static_model.ts'), MODEL)
    await writeSlotText(join(folder, 'data'), 200)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test("prints PaddleRec's lines when output is not a terminal", async () => {
    const { code, out, err } = await oarfish(['train', '-m', 'config.yaml'], folder)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/ - INFO - use_gpu: False, use_xpu: False, use_visual: False, train_batch_size: 10, /)
    expect(out).toMatch(/ - INFO - epoch: 0, batch_id: 19, loss: 0\.\d+, avg_reader_cost: .* ins\/s\n/)
    expect(out).toMatch(/ - INFO - epoch: 0 done, loss: 0\.\d+, epoch time: \d+\.\d\d s\n/)
  })

  test('prints nothing but JSON lines with --json, the last of them done', async () => {
    const { code, out, err } = await oarfish(['train', '-m', 'config.yaml', '--json', '--digest'], folder)
    expect([code, err]).toEqual([0, ''])
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.at(-1)).toMatchObject({ kind: 'done', samples: 200, digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(events.filter(({ kind }) => kind === 'batch')).toHaveLength(20)
  })

  test('finishes the step on Ctrl+C, says where it stopped and exits with 130', async () => {
    let asked = false
    const arguments_ = ['train', '-m', 'config.yaml', '-o', 'runner.epochs=100000', '--json']
    const { code, out } = await oarfish(arguments_, folder, (text, child) => {
      if (!asked && text.includes('"kind":"batch"')) asked = child.kill('SIGINT')
    })
    expect(code).toBe(130)
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.find(({ kind }) => kind === 'interrupted')).toMatchObject({
      epoch: expect.any(Number),
      batch: expect.any(Number),
    })
  })

  test('goes on with --resume after SIGTERM as if it had not been stopped', async () => {
    const settings = ['-m', 'config.yaml', '--json', '--digest', '-o', 'runner.keep_checkpoints=1']
    const run = (more: readonly string[], onOutput?: (text: string, child: ChildProcess) => void) =>
      oarfish(['train', ...settings, ...more], folder, onOutput)
    let asked = false
    const stopped = await run(['runner.model_save_path=stopped', 'runner.epochs=100000'], (text, child) => {
      if (!asked && /"kind":"batch".*"epoch":2,/.test(text)) asked = child.kill('SIGTERM')
    })
    expect(stopped.code).toBe(143)
    const at = eventsOf(stopped.out).find(({ kind }) => kind === 'interrupted')
    expect(at).toMatchObject({ path: expect.stringMatching(/^stopped/) })
    const epochs = `runner.epochs=${at.epoch + 2}`
    const resumed = await run(['runner.model_save_path=stopped', epochs, '--resume'])
    const whole = await run(['runner.model_save_path=whole', epochs])
    expect(eventsOf(resumed.out).at(-1)).toMatchObject({ kind: 'done', digest: expect.any(String) })
    expect(eventsOf(resumed.out).at(-1).digest).toBe(eventsOf(whole.out).at(-1).digest)
  })

  test('tells of a bad line that comes while threads compute, instead of ending in native code', async () => {
    const bad = join(folder, 'bad-line')
    await writeSlotText(join(bad, 'data'), 4000)
    await writeFile(join(bad, 'data', 'part-zzz'), 'click:1 dense_feature:x\n')
    await writeFile(
      join(bad, 'static_model.ts'),
      MODEL.replace('nn.linear(x,', "nn.linear(nn.mlp(x, { name: 'wide', sizes: [2048, 2048] }),"),
    )
    await writeFile(
      join(bad, 'config.yaml'),
      CONFIG.replace('train_batch_size: 10', 'train_batch_size: 512\n  thread_num: 2'),
    )
    const { code, err } = await oarfish(['train', '-m', 'config.yaml', '-o', 'runner.model_save_path='], bad)
    expect(err).toMatch(/part-zzz:1/)
    expect(code).toBe(2)
  })

  test('ends with an error event and exit code 2 when a key is wrong', async () => {
    const { code, out, err } = await oarfish(['train', '-m', 'config.yaml', '-o', 'runner.epoch=2', '--json'], folder)
    expect([code, err]).toEqual([2, ''])
    expect(JSON.parse(out)).toMatchObject({
      kind: 'error',
      code: 'CONFIG_UNKNOWN_KEY',
      message: expect.stringContaining('epochs'),
    })
  })

  test('shows the stack of a model that throws, in the words of the model, not as a bug of oarfish', async () => {
    const broken = join(folder, 'broken')
    await writeSlotText(join(broken, 'data'), 10)
    await writeFile(join(broken, 'config.yaml'), CONFIG)
    await writeFile(
      join(broken, 'static_model.ts'),
      MODEL.replace('return { loss', "throw new Error('my own mistake'); return { loss"),
    )
    const { code, err } = await oarfish(['train', '-m', 'config.yaml'], broken)
    expect(code).toBe(2)
    expect(err).toContain('my own mistake')
    expect(err).toContain('static_model.ts:6')
  })
})

describe('oarfish infer', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-infer-'))
    await writeFile(join(folder, 'config.yaml'), CONFIG.replace('runner:', 'runner:\n  test_data_dir: "data"'))
    await writeFile(join(folder, 'static_model.ts'), MODEL)
    await writeSlotText(join(folder, 'data'), 200)
    await oarfish(['train', '-m', 'config.yaml', '-o', 'runner.epochs=2'], folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test("prints PaddleRec's lines for every saved epoch", async () => {
    const { code, out, err } = await oarfish(['infer', '-m', 'config.yaml'], folder)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/infer_batch_size: 10, test_data_dir: .*, start_epoch: 0, end_epoch: 10, .*model_load_path: /)
    for (const epoch of [0, 1]) {
      expect(out).toMatch(new RegExp(` - INFO - load model epoch ${epoch}\n`))
      expect(out).toMatch(new RegExp(` - INFO - epoch: ${epoch}, batch_id: 19, loss: .* ips: \\d+\\.\\d\\d ins/s\n`))
      expect(out).toMatch(new RegExp(` - INFO - epoch: ${epoch} done, loss: 0\\.\\d+, epoch time: `))
    }
  })

  test('prints events with --json and refuses what is not there with exit code 2', async () => {
    const { code, out } = await oarfish(['infer', '-m', 'config.yaml', '--json'], folder)
    expect([code, eventsOf(out).at(-1).kind]).toEqual([0, 'done'])
    const missing = await oarfish(['infer', '-m', 'config.yaml', '-o', 'runner.infer_load_path=no', '--json'], folder)
    expect([missing.code, eventsOf(missing.out).at(-1).code]).toEqual([2, 'SNAPSHOT_MISSING'])
  })
})

const eventsOf = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
