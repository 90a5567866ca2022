/** @file The calls of the library in one process: results, events, stopping, and what is said of bad input. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Event,
  evaluate,
  exportModel,
  launch,
  loadConfig,
  openPredictor,
  type Settings,
  serve,
  train,
} from '../../src/index.ts'
import { tinyFolder } from '../train/tiny.testing.ts'

let folder: string
let config: string
let set: Settings
let out: string
beforeAll(async () => {
  folder = await tinyFolder()
  config = join(folder, 'config.yaml')
  set = { runner: { model_save_path: join(folder, 'saved') } }
  out = join(folder, 'exported')
  await train({ config, set })
  await exportModel({ config, set, out })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('train', () => {
  test('needs a config and nothing else, and says what came of it', async () => {
    const result = await train({ config, set: { runner: { model_save_path: '' } } })
    expect(result).toMatchObject({ samples: 960, interrupted: false, checkpoint: undefined })
    expect(result.evaluation!['auc']).toBeGreaterThan(0.7)
  })

  test('hands events to a callback and to a loop alike', async () => {
    const heard: Event[] = []
    const run = train({ config, set, onEvent: (event) => heard.push(event) })
    const seen: Event[] = []
    for await (const event of run) seen.push(event)
    expect(seen).toEqual(heard)
    expect(seen[0]?.kind).toBe('start')
    expect(seen.at(-1)?.kind).toBe('done')
    const { checkpoint } = await run
    expect(checkpoint).toBe(seen.find((event) => event.kind === 'saved')?.path)
  })

  test('goes on when a loop over its events is left', async () => {
    const run = train({ config, set })
    for await (const { kind } of run) if (kind === 'ready') break
    expect(await run).toMatchObject({ samples: 960, interrupted: false })
  })

  test('is stopped by a signal after the step under way, and resumed', async () => {
    const saved = { runner: { model_save_path: join(folder, 'stopped'), print_interval: 1, epochs: 2 } }
    const stop = new AbortController()
    const onEvent = ({ kind }: Event) => kind === 'batch' && stop.abort()
    const first = await train({ config, set: saved, signal: stop.signal, onEvent })
    expect(first.interrupted).toBe(true)
    expect(first.samples).toBeLessThan(960)
    const rest = await train({ config, set: saved, resume: true })
    expect(rest).toMatchObject({ interrupted: false, samples: 2 * 960 - first.samples })
  })

  test('is stopped where its block ends', async () => {
    const events: Event[] = []
    const saved = { runner: { model_save_path: '', print_interval: 1, epochs: 50 } }
    const run = train({ config, set: saved, onEvent: (event) => events.push(event) })
    for await (const { kind } of run) if (kind === 'batch') break
    await run[Symbol.asyncDispose]() // what `await using` calls
    expect(await run).toMatchObject({ interrupted: true })
    expect(events.at(-1)?.kind).toBe('done')
  })

  test('throws what its callback throws, once its threads are gone', async () => {
    const onEvent = ({ kind }: Event) => {
      if (kind === 'batch') throw new Error('enough')
    }
    await expect(train({ config, set, onEvent })).rejects.toThrow('enough')
  })

  test('throws what is wrong with the config, in a loop too', async () => {
    const wrong = { runner: { epochs: 0 } }
    await expect(train({ config, set: wrong })).rejects.toThrow(/runner\.epochs/)
    const run = train({ config, set: wrong })
    await expect(drained(run)).rejects.toThrow(/runner\.epochs/)
  })

  test('takes a loaded config, whose settings are its own', async () => {
    const loaded = loadConfig({ config, set })
    expect(loaded.config.runner.model_save_path).toBe(join(folder, 'saved'))
    await expect(train({ config: loaded, set })).rejects.toMatchObject({ code: 'CONFIG_OVERRIDE' })
    expect((await train({ config: loaded })).samples).toBe(960)
  })
})

async function drained(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of events) all.push(event)
  return all
}

describe('settings', () => {
  test('merge with the groups of the file, and keep text as text', async () => {
    const path = join(folder, 'settings.yaml')
    await writeFile(path, `${await readFile(config, 'utf8')}  name: five\n`)
    const changed = { runner: { test_data_dir: 'data/train' }, hyper_parameters: { name: '5', tag: '7', list: [1, 2] } }
    const { runner, hyper_parameters } = loadConfig({ config: path, set: changed }).config
    expect(runner).toMatchObject({ train_batch_size: 48, test_data_dir: join(folder, 'data/train') })
    expect(hyper_parameters).toEqual({ dim: 3, name: '5', tag: '7', list: [1, 2] })
  })
})

describe('evaluate', () => {
  test('evaluates the saved epoch as training did', async () => {
    const { evaluation } = await train({ config, set })
    const result = await evaluate({ config, set, epoch: 0 })
    expect(result.epochs).toEqual([{ epoch: 0, metrics: result.metrics }])
    expect(result.metrics).toEqual(evaluation)
  })

  test('names an epoch that was not saved', async () => {
    await expect(evaluate({ config, set, epoch: 7 })).rejects.toMatchObject({ code: 'SNAPSHOT_MISSING' })
  })
})

describe('exportModel', () => {
  test('writes a folder and says what is in it', async () => {
    const { folder: written, manifest, bytes } = await exportModel({ config, set, out: join(folder, 'other') })
    expect((await stat(join(written, manifest.model.file))).size).toBeLessThan(bytes)
    expect(manifest.types).toBe('model.d.ts')
  })

  test('aborted, leaves the export that was there', async () => {
    const before = await readFile(join(out, 'manifest.json'), 'utf8')
    const stop = new AbortController()
    const onEvent = ({ kind }: Event) => kind === 'saved' && stop.abort(new Error('not now'))
    await expect(exportModel({ config, set, out, signal: AbortSignal.abort(new Error('not now')) })).rejects.toThrow(
      'not now',
    )
    expect(await readFile(join(out, 'manifest.json'), 'utf8')).toBe(before)
    await exportModel({ config, set, out, onEvent, signal: stop.signal }) // aborted when it was saved: too late
  })
})

describe('openPredictor', () => {
  test('scores the samples of an export as the trainer did, alone, together and from text', async () => {
    const predictor = await openPredictor({ model: out })
    const { instances, scores } = JSON.parse(await readFile(join(out, 'samples.json'), 'utf8'))
    const together = await predictor.score(instances)
    expect(together.samples).toBe(instances.length)
    expectClose(together.scores, scores)
    const alone = await Promise.all(instances.map((instance: never) => predictor.score([instance])))
    expectClose(
      alone.map(({ scores }) => scores[0]!),
      scores,
    )
    const { output } = predictor.manifest.score
    expect(together.outputs[output]!.dims[0]).toBe(instances.length)
    let lines = 0
    for await (const { samples } of predictor.scoreFiles({ input: join(folder, 'data/test') })) lines += samples
    expect(lines).toBe(320)
    await predictor.close()
    await expect(predictor.score(instances)).rejects.toMatchObject({ code: 'PREDICT_CLOSED' })
  })

  test('says which sample is wrong, and how', async () => {
    const predictor = await openPredictor({ model: out })
    const good = { user: 3, tags: [101, 102], history: ['18446744073709551615'], x: [0.5, 0.25] }
    const problem = (sample: object) => predictor.score([good, sample as typeof good]).catch((error: Error) => error)
    expect(await problem({ ...good, tag: [1] })).toMatchObject({
      code: 'PREDICT_SAMPLE',
      message: 'sample 1: the model has no slot "tag"',
      hint: 'Did you mean "tags"?',
    })
    expect(await problem({ ...good, user: undefined })).toMatchObject({ message: 'sample 1: slot "user" is missing' })
    expect(await problem({ ...good, x: [0.5] })).toMatchObject({
      code: 'PREDICT_SAMPLE',
      message: expect.stringContaining('expected 2 values, found 1'),
    })
    expect(await problem([1, 2])).toMatchObject({ code: 'PREDICT_SAMPLE' })
    await predictor.close()
    const filling = await openPredictor({ model: out, fillMissing: true })
    expect((await filling.score([{ x: [0.5, 0.25] }])).samples).toBe(1)
    await filling.close()
  })

  test('says where there is no export', async () => {
    await expect(openPredictor({ model: join(folder, 'data') })).rejects.toMatchObject({ code: 'EXPORT_MISSING' })
  })

  test('its types are those of the manifest', async () => {
    expect(await readFile(join(out, 'model.d.ts'), 'utf8')).toMatchInlineSnapshot(`
      "/** Types of the export in this folder, written with it: openPredictor<Model>(...). */
      /** One id or several, of 64 bits without sign: above 2^53 as a bigint or as text. */
      type Ids = number | bigint | string | ArrayLike<number | bigint | string>

      export interface Model {
        readonly sample: {
          /** One value, whole numbers. The outputs do not use it. */
          readonly click?: number | bigint | string | ArrayLike<number | bigint | string>
          /** At least one id. */
          readonly user: Ids
          /** At least one id. */
          readonly tags: Ids
          /** At least one id. */
          readonly history: Ids
          /** 2 values. */
          readonly x: ArrayLike<number>
        }
        readonly outputs: {
          /** [B, 1] */
          readonly predict: { readonly data: Float32Array; readonly dims: readonly number[] }
        }
      }
      "
    `)
  })
})

describe('serve', () => {
  test('answers on a free port until its signal aborts, and tells its events', async () => {
    const stop = new AbortController()
    const server = await serve({ model: out, signal: stop.signal, threads: 1 })
    const body = await readFile(join(out, 'samples.json'), 'utf8')
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/predict`, { method: 'POST', body, headers })
    expectClose(((await answer.json()) as { scores: number[] }).scores, JSON.parse(body).scores)
    stop.abort()
    await server.closed
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
    expect(await drained(server)).toEqual([])
  })

  test('is closed where its block ends', async () => {
    const heard: Event[] = []
    const server = await serve({ model: out, threads: 1, onEvent: (event) => heard.push(event) })
    expect(heard).toMatchObject([{ kind: 'notice', message: expect.stringContaining(server.url) }])
    await server[Symbol.asyncDispose]()
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
  })

  test('takes a certificate as the command does', async () => {
    await expect(serve({ model: out, tlsCert: 'cert.pem' })).rejects.toThrow(/tls-cert and --tls-key belong together/)
  })
})

describe('launch', () => {
  test.each([
    [{}, /what to run is not said/],
    [{ config: 'config.yaml', script: ['a.ts'], ranks: 1 }, /said twice/],
    [{ config: 'config.yaml' }, /which processes/],
    [{ config: 'config.yaml', ranks: 1, servers: 1 }, /which processes/],
    [{ config: 'config.yaml', ranks: 0 }, /ranks: expected a whole number from 1, got 0/],
    [{ script: ['a.ts'], ranks: 1, set: {} }, /set is of a config/],
    [{ script: ['none.ts'], servers: 1, workers: 1 }, /none\.ts/],
    [{ config: 'none.yaml', servers: 1, workers: 1 }, /none\.yaml/],
  ])('refuses %j before anything starts', async (options, message) => {
    const started: Event[] = []
    const logDir = join(folder, 'log')
    await expect(launch({ ...(options as object), logDir, onEvent: (event) => started.push(event) })).rejects.toThrow(
      message,
    )
    expect(started).toEqual([])
  })
})

function expectClose(found: ArrayLike<number>, expected: readonly number[]): void {
  expect(found.length).toBe(expected.length)
  for (const [i, value] of expected.entries()) expect(found[i]).toBeCloseTo(value, 5)
}
