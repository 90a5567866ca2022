/** @file Exports as a whole: the numbers of training, names, damage, folding. */
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { capture } from '../../src/cli/capture.testing.ts'
import { joinColumns } from '../../src/data/index.ts'
import { openModel } from '../../src/graph/engine/index.ts'
import { foldModel } from '../../src/inference/export/fold.ts'
import { openExport, planExport, predict, writeExport } from '../../src/inference/export/index.ts'
import { loadModel } from '../../src/model/index.ts'
import { createParams } from '../../src/training/threads/runtime.ts'
import { type Exported, exported, exportTo, foldedInputs, testLines } from './exported.testing.ts'

/** Scores of the test data, by the file. */
async function scoresOf(model: string, folder: string): Promise<number[]> {
  const scores: number[] = []
  for await (const scored of predict({ model, input: join(folder, 'data', 'test') })) scores.push(...scored.scores)
  return scores
}

/** The loss that evaluation would print for these scores. */
function lossOf(scores: readonly number[], lines: readonly string[]): number {
  const losses = scores.map((score, i) => -Math.log(lines[i]!.startsWith('click:1') ? score : 1 - score))
  return losses.reduce((a, b) => a + b, 0) / losses.length
}

describe.each([
  ['tiny', []],
  ['tiny', ['hyper_parameters.lazy=False']],
  ['inits', []],
] as const)('an export of the model %s with %j', (model, overrides) => {
  let made: Exported
  beforeAll(async () => {
    made = await exported(model, [...overrides, 'runner.use_inference=True'])
  })
  afterAll(() => rm(made.folder, { recursive: true, force: true }))

  test('scores as evaluation did', async () => {
    const lines = await testLines(made.folder)
    const scores = await scoresOf(made.out, made.folder)
    expect(scores).toHaveLength(lines.length)
    expect(lossOf(scores, lines)).toBeCloseTo(made.run.result.evaluation!['loss']!, 6)
  })

  test('is the one that training writes beside each checkpoint', async () => {
    const own = await scoresOf(join(made.folder, 'model_output'), made.folder)
    expect(own).toEqual(await scoresOf(made.out, made.folder))
    const saved = made.run.events.flatMap((event) => (event.kind === 'saved' ? [event.path] : []))
    expect(saved.map((path) => path.slice(-'0/inference'.length))).toContain('0/inference')
  })

  test('folded into one file, known ids score the same', async () => {
    const { manifest } = await openExport(made.out)
    const session = await openModel(await readFile(join(made.out, manifest.folded!.file)))
    const samples = JSON.parse(await readFile(join(made.out, manifest.samples), 'utf8'))
    const known = samples.instances.slice(0, -1) // the last one has ids that no table has
    const outputs = await session.run(foldedInputs(manifest, known))
    const scores = Array.from(outputs[manifest.score.output]!.data, Number)
    expect(scores).toHaveLength(7)
    for (const [i, score] of scores.entries()) expect(score).toBeCloseTo(samples.scores[i], 6)
    await session.close()
  })
})

/** Ids padded with zeros to the longest sample's number, as docs/reference/export-format.md says. */
describe('oarfish export and predict', () => {
  let made: Exported
  beforeAll(async () => {
    made = await exported('tiny')
  })
  afterAll(() => rm(made.folder, { recursive: true, force: true }))
  const run = (...args: string[]) => capture(args)
  const asExport = (...opt: string[]) => {
    const { folder } = made
    const save = `runner.model_save_path=${join(folder, 'model_output')}`
    return run('export', '-m', join(folder, 'config.yaml'), '--out', join(folder, 'again'), '-o', save, ...opt)
  }

  test('predict prints one score a line, from a file, a folder or a pipe alike', async () => {
    const part = join(made.folder, 'data', 'test', 'part-0')
    const file = await run('predict', '--model', made.out, part)
    expect([file.code, file.err]).toEqual([0, ''])
    expect(file.out).toMatch(/^(0\.\d+\n){320}$/)
    expect(await run('predict', '--model', made.out, join(made.folder, 'data', 'test'))).toEqual(file)
    const input = await readFile(part, 'utf8')
    expect(await capture(['predict', '--model', made.out, '-'], { input })).toEqual(file)
    const json = await capture(['predict', '--model', made.out, '-', '--json'], { input })
    const [first] = json.out.split('\n')
    expect(JSON.parse(first!)).toEqual({
      score: Number(file.out.split('\n')[0]),
      outputs: { predict: [Number(file.out.split('\n')[0])] },
    })
  })

  test('predict refuses text that has none of the slots: its scores would be those of padding', async () => {
    const strange = 'colour:1 size:2\ncolour:3\n'
    await writeFile(join(made.folder, 'strange.txt'), strange)
    const file = await run('predict', '--model', made.out, join(made.folder, 'strange.txt'))
    const pipe = await capture(['predict', '--model', made.out, '-'], { input: strange })
    for (const { code, out, err } of [file, pipe]) {
      expect([code, out]).toEqual([2, ''])
      expect(err).toMatch(/none of the first 2 lines has any of the model's slots: "\w+".*; there are "colour", "size"/)
    }
    expect(file.err).toContain('strange.txt')
  })

  test('predict says which file is not there', async () => {
    const { code, err } = await run('predict', '--model', made.out, 'nofile.txt')
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^nofile\.txt there is no such file or folder\n {2}name a file/),
    ])
  })

  test('predict reads no more of a line without an end than a line may have', async () => {
    let given = 0
    const endless = async function* () {
      for (;;) {
        given++
        yield new Uint8Array(1 << 20)
      }
    }
    const scoring = predict({ model: made.out, input: endless() }).next()
    await expect(scoring).rejects.toThrow('This line is longer than 16 MiB')
    expect(given).toBeLessThan(20)
  })

  test('predict names the line that is wrong', async () => {
    const { code, err } = await capture(['predict', '--model', made.out, '-'], {
      input: 'user:1 tags:2 history:3 x:0.1 x:0.2\nuser:x\n',
    })
    expect(code).toBe(2)
    expect(err).toMatch(/^-:2:6 Slot "user": expected a feature sign.*\n {2}Mend the line/)
  })

  test('an unknown feed is refused with the nearest names, before training', async () => {
    const opt = 'runner.save_inference_feed_varnames=[usr,tags]'
    const { code, err } = await asExport(opt)
    expect(code).toBe(2)
    expect(err).toContain('the model has no input "usr"; the nearest names are user, ')
    await expect(exported('tiny', [opt, 'runner.use_inference=True'])).rejects.toMatchObject({ code: 'EXPORT_FEED' })
  })

  test('feeds that leave out what the outputs need are refused, and so are unknown fetches', async () => {
    const feeds = await asExport('runner.save_inference_feed_varnames=[user,tags]')
    expect(feeds.err).toContain('the output predict also needs history, x')
    const fetches = await asExport('runner.save_inference_fetch_varnames=[prediction]')
    expect(fetches.err).toContain('the model has no output "prediction"; the nearest names are predict')
    const all = await asExport('runner.save_inference_feed_varnames=[user,tags,history,x]')
    expect([all.code, all.err]).toEqual([0, ''])
  })

  test('a folder of other things is left alone, and one that cannot be written is said', async () => {
    const mine = join(made.folder, 'mine')
    await mkdir(mine)
    await exportTo(made.folder, mine)
    await exportTo(made.folder, mine)
    const data = await readdir(join(made.folder, 'data'))
    for (const other of ['data', 'model_output', 'model_output/0', 'config.yaml', 'config.yaml/below'])
      await expect(exportTo(made.folder, join(made.folder, other))).rejects.toMatchObject({ code: 'EXPORT_WRITE' })
    expect(await readdir(join(made.folder, 'data'))).toEqual(data)
    await expect(exportTo(made.folder, '/proc/none')).rejects.toMatchObject({ code: 'EXPORT_WRITE' })
  })

  test('an epoch that was not saved is named with those that were', async () => {
    const { err } = await capture([
      ...['export', '-m', join(made.folder, 'config.yaml'), '--out', join(made.folder, 'again'), '--epoch', '7'],
      ...['-o', `runner.model_save_path=${join(made.folder, 'model_output')}`],
    ])
    expect(err).toMatch(/--epoch: there is no checkpoint in .*7; saved epochs: 0/)
  })

  test('a folder without an export says how to make one', async () => {
    const { code, err } = await run('predict', '--model', join(made.folder, 'data'), 'x')
    expect([code, err.includes('oarfish export')]).toEqual([2, true])
  })

  test('tables beyond the limit are not folded', async () => {
    const { manifest, tables } = await openExport(made.out)
    const model = { opset: 18, name: '', nodes: [], initializers: [], inputs: [], outputs: [] }
    const plan = { ...manifest, program: undefined as never }
    const fold = () => foldModel({ model, plan, tables: manifest.tables, memories: tables, maxBytes: 500 })
    expect(fold).toThrow('--fold: the tables have 1 MiB, more than')
  })
})

describe('a damaged export', () => {
  let made: Exported
  beforeAll(async () => {
    made = await exported('tiny')
  })
  afterAll(() => rm(made.folder, { recursive: true, force: true }))
  const damaged = async (file: string, harm: (path: string) => Promise<void>) => {
    await exportTo(made.folder, made.out)
    await harm(join(made.out, file))
    return openExport(made.out).catch((error: unknown) => error)
  }

  test.each([
    ['a table that was cut off', 'table-0.bin', (path: string) => truncate(path, 100), /bytes instead of/],
    ['a table with one other bit', 'table-0.bin', (path: string) => flip(path, 700), /its checksum does not match/],
    ['a table that is another kind of file', 'table-1.bin', (path: string) => flip(path, 2), /does not begin with/],
    ['a graph with one other bit', 'model.onnx', (path: string) => flip(path, 300), /its checksum does not match/],
    ['a graph that is gone', 'model.onnx', (path: string) => rm(path), /it is missing/],
    ['a manifest that was cut off', 'manifest.json', (path: string) => truncate(path, 400), /it is not JSON/],
    [
      'a manifest of another version',
      'manifest.json',
      async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replace('"version": 1', '"version": 9')),
      /it has format version 9; this build reads version 1/,
    ],
  ])('%s is refused by name', async (_, file, harm, reason) => {
    expect(await damaged(file, harm)).toMatchObject({
      code: expect.stringMatching(/^EXPORT_/),
      message: expect.stringMatching(reason),
      where: { file: join(made.out, file) },
    })
  })

  test('an export that fails leaves the one that was there, and nothing beside it', async () => {
    await exportTo(made.folder, made.out)
    const before = await stat(join(made.out, 'manifest.json'))
    const config = loadConfig({ path: join(made.folder, 'config.yaml'), cwd: made.folder })
    const model = await loadModel(config)
    const plan = { ...planExport(model, {}), score: { output: 'none', column: 0 } }
    const params = createParams(config.config, model, model, 1)
    const samples = joinColumns(model.slots, [])
    await expect(writeExport({ folder: made.out, plan, params, epoch: 9, seed: 1, samples })).rejects.toThrow()
    expect((await stat(join(made.out, 'manifest.json'))).ino).toBe(before.ino)
    expect((await readdir(made.folder)).filter((name) => name.startsWith('exported'))).toEqual(['exported'])
  })
})

async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path)
  bytes[at]! ^= 1
  await writeFile(path, bytes)
}
