/** @file Training as a whole: what must repeat, what must agree, what must stop it. */
import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tinyFolder, trainTiny } from './tiny.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('with one thread', () => {
  test('a repeated run is bit-identical, whatever the number of reader threads and segments', async () => {
    const first = await trainTiny(folder, ['runner.epochs=2'])
    const second = await trainTiny(folder, ['runner.epochs=2', 'runner.reader_threads=3', 'runner.table_segments=1'])
    expect(second.result.digest).toBe(first.result.digest)
    expect(second.result.metrics).toEqual(first.result.metrics)
    expect(second.result.evaluation).toEqual(first.result.evaluation)
  })

  test('another seed gives another model', async () => {
    const digests = await Promise.all(
      ['1', '2'].map(
        async (seed) =>
          (await trainTiny(folder, [`runner.seed=${seed}`, `runner.model_save_path=out-${seed}`])).result.digest,
      ),
    )
    expect(digests[0]).not.toBe(digests[1])
  })

  test('onnxruntime and the reference engine train alike', async () => {
    const [ort, reference] = [await trainTiny(folder), await trainTiny(folder, [], { engine: 'reference' })]
    expect(ort.result.metrics['loss']).toBeCloseTo(reference.result.metrics['loss']!, 5)
    expect(ort.result.evaluation!['auc']).toBeCloseTo(reference.result.evaluation!['auc']!, 3)
  })

  test('Adam that is not lazy trains too, and otherwise', async () => {
    const [lazy, eager] = [await trainTiny(folder), await trainTiny(folder, ['hyper_parameters.lazy=False'])]
    expect(eager.result.evaluation!['auc']).toBeGreaterThan(0.7)
    expect(eager.result.digest).not.toBe(lazy.result.digest)
  })
})

describe('with several threads', () => {
  test.each(['sync', 'async'])('every sample is trained once and the model is as good (%s)', async (mode) => {
    const { events, result } = await trainTiny(folder, [
      'runner.thread_num=3',
      'runner.epochs=3',
      `runner.thread_mode=${mode}`,
    ])
    expect(result.samples).toBe(3 * 960)
    expect(result.evaluation!['auc']).toBeGreaterThan(0.75)
    const printed = events.flatMap((event) => (event.kind === 'batch' && event.phase === 'train' ? [event.batch] : []))
    expect(printed.toSorted((x, y) => x - y)).toEqual([0, 0, 0, 5, 5, 5, 10, 10, 10, 15, 15, 15])
  })

  test('threads that share every batch make the steps of one thread', async () => {
    const [one, three] = await Promise.all(
      [1, 3].map((threads) =>
        trainTiny(folder, [
          `runner.thread_num=${threads}`,
          'runner.thread_mode=sync',
          `runner.model_save_path=out-${threads}`,
        ]),
      ),
    )
    expect(three!.result.metrics['loss']).toBeCloseTo(one!.result.metrics['loss']!, 4)
    expect(three!.result.evaluation!['auc']).toBeCloseTo(one!.result.evaluation!['auc']!, 3)
  })
})

describe('what stops training', () => {
  test('a loss that is not a number stops before it reaches the weights, naming epoch and batch', async () => {
    const error = await trainTiny(folder, ['hyper_parameters.learning_rate=1e30']).catch((reason: Error) => reason)
    expect(error).toMatchObject({ code: 'LOSS_NOT_FINITE', message: expect.stringMatching(/epoch 0, batch \d+/) })
  })

  test('an abort ends after the steps under way and says where', async () => {
    const controller = new AbortController()
    const { events, result } = await trainTiny(folder, ['runner.epochs=1000'], {
      signal: controller.signal,
      emit: (event) => {
        if (event.kind === 'epochStart' && event.epoch === 1) controller.abort()
      },
    })
    expect(events).toEqual([])
    expect(result.interrupted).toBe(true)
    expect(result.samples).toBeLessThan(3 * 960)
  })

  test('a malformed line names file and line, after the batches before it', async () => {
    const bad = await tinyFolder(160)
    await appendFile(join(bad, 'data', 'train', 'part-1'), 'click:1 user:-4 x:0.1 x:0.2\n')
    const error = await trainTiny(bad).catch((reason: Error) => reason)
    expect(error).toMatchObject({ where: { file: join(bad, 'data', 'train', 'part-1'), line: 41 } })
    const skipped = await trainTiny(bad, ['runner.on_bad_line=skip'])
    expect(skipped.result.samples).toBe(120)
    expect(skipped.events.some((event) => event.kind === 'notice' && event.message.includes('1 line'))).toBe(true)
    await rm(bad, { recursive: true, force: true })
  })

  test('a model that throws shows its own stack', async () => {
    const bad = await tinyFolder(160)
    await writeFile(
      join(bad, 'static_model.ts'),
      'export class StaticModel { createFeeds() { throw new Error("no such feed") } }',
    )
    const error = await trainTiny(bad).catch((reason: Error) => reason)
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(/no such feed[\s\S]*static_model\.ts/),
    })
    await rm(bad, { recursive: true, force: true })
  })
})
