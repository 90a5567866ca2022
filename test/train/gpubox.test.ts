/** @file The GPU parameter server on the CPU: passes over rows of their own end as training in the host's tables does. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event, EventOf } from '../../src/base/event/index.ts'
import { isUserError, UserError } from '../../src/base/util/index.ts'
import { infer, overPasses, type TrainOptions, train } from '../../src/training/driver/index.ts'
import { tinyFolder } from './tiny.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(1280)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const load = (...overrides: string[]) =>
  loadConfig({
    path: join(folder, 'config.yaml'),
    overrides: [
      'runner.reader_type=InmemoryDataset',
      'runner.train_batch_size=32',
      'runner.print_interval=1',
      ...overrides,
    ],
    cwd: folder,
  })

async function run(
  overrides: readonly string[],
  { passes = true, devices = 1, ...options }: Partial<TrainOptions> & { passes?: boolean; devices?: number } = {},
) {
  const events: Event[] = []
  const config = load(...(passes ? ['runner.sync_mode=gpubox'] : []), ...overrides)
  const emit = (event: Event) => {
    events.push(event)
    options.emit?.(event)
  }
  const result = await train({ config, digest: true, ...options, emit }, passes ? overPasses({ devices }) : undefined)
  const of = <K extends Event['kind']>(kind: K) => events.filter((event) => event.kind === kind) as EventOf<K>[]
  return { events, result, of }
}

const ACCESSOR = `table_parameters:
  ids:
    accessor:
      accessor_class: CtrCommonAccessor
      fea_dim: 3
      embedx_dim: 0
      embedx_threshold: 2
`

describe('weights after passes are those of training in the host’s tables', () => {
  test.each([
    ['lazy Adam', []],
    ['Adam that is not lazy', ['hyper_parameters.lazy=False']],
    ['Adagrad', ['hyper_parameters.optimizer=adagrad']],
  ])('%s: row for row, one pass an epoch and several', async (_, overrides) => {
    const all = ['runner.epochs=2', 'runner.model_save_path=', ...overrides]
    const alone = await run(all, { passes: false })
    const one = await run(all)
    expect(one.result.digest).toBe(alone.result.digest)
    expect(one.of('passEnd').map(({ pass, passes, newRows }) => [pass, passes, newRows > 0])).toEqual([
      [0, 1, true],
      [0, 1, false],
    ])
    // Files are whole batches, so the cut changes no batch; rows that two passes share must be handed over.
    const cut = await run([...all, 'runner.pass_memory=60kB'])
    expect(cut.of('passEnd').map(({ epoch, pass, passes }) => [epoch, pass, passes])).toEqual(
      [0, 1].flatMap((epoch) => [0, 1, 2].map((pass) => [epoch, pass, 3])),
    )
    expect(cut.result.digest).toBe(alone.result.digest)
    expect(cut.result.evaluation).toEqual(alone.result.evaluation)
  })

  test('a table with an accessor, whose rows are made by pushes', async () => {
    const yaml = join(folder, 'config.yaml')
    const { readFile } = await import('node:fs/promises')
    const plain = await readFile(yaml, 'utf8')
    await writeFile(yaml, plain + ACCESSOR)
    try {
      const all = ['runner.epochs=2', 'runner.model_save_path=']
      const alone = await run(all, { passes: false })
      expect((await run([...all, 'runner.pass_memory=60kB'])).result.digest).toBe(alone.result.digest)
    } finally {
      await writeFile(yaml, plain)
    }
  })

  test('two devices make one step of both their batches', async () => {
    const all = ['runner.epochs=1', 'runner.model_save_path=']
    const two = await run(all, { devices: 2 })
    const large = await run([...all, 'runner.train_batch_size=64'], { passes: false })
    expect(two.result.metrics['loss']).toBeCloseTo(large.result.metrics['loss']!, 4)
    expect(two.of('forecast')[0]).toMatchObject({ devices: 2, passes: 1, estimated: false, samples: 960 })
  })
})

test('saves, resumes inside an epoch of several passes, evaluates', async () => {
  const all = ['runner.epochs=2', 'runner.pass_memory=60kB']
  const whole = await run([...all, 'runner.model_save_path=whole'])
  const stop = new AbortController()
  const emit = (event: Event) => event.kind === 'batch' && event.phase === 'train' && event.batch === 14 && stop.abort()
  const first = await run([...all, 'runner.model_save_path=parts'], { signal: stop.signal, emit })
  expect(first.result.interrupted).toBe(true)
  const second = await run([...all, 'runner.model_save_path=parts'], { resume: true })
  expect(second.of('passBegin')[0]!.pass).toBeGreaterThan(0)
  expect(second.result.digest).toBe(whole.result.digest)
  expect(await readdir(join(folder, 'parts'))).toEqual(expect.arrayContaining(['0', '1']))
  const config = load('runner.sync_mode=gpubox', 'runner.infer_load_path=parts', 'runner.infer_end_epoch=2')
  const evaluated = await infer({ config, emit: () => undefined })
  expect(evaluated.epochs.at(-1)!.metrics['auc']).toBeCloseTo(second.result.evaluation!['auc']!, 6)
})

test('a forecast comes before the first pass, by table', async () => {
  const { events, of } = await run(['runner.epochs=1', 'runner.model_save_path='])
  const kinds = events.map(({ kind }) => kind)
  expect(kinds.indexOf('forecast')).toBeLessThan(kinds.indexOf('batch'))
  const [forecast] = of('forecast')
  expect(of('passBegin')[0]!.rows).toBe(forecast!.tables.reduce((sum, { rows }) => sum + rows, 0))
  expect(forecast!.deviceBytes).toBe(forecast!.tables.reduce((sum, { deviceBytes }) => sum + deviceBytes, 0))
})

describe('what is wrong is said', () => {
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error as UserError,
    )

  test('a pass that cannot be made small enough', async () => {
    const error = await failure(run(['runner.pass_memory=1kB', 'runner.model_save_path=']))
    expect(error).toMatchObject({ code: 'GPUPS_MEMORY' })
    expect(error!.message).toMatch(/Even cut into 3 passes/)
  })

  test('a dynamic graph, and a reader that does not load into memory', async () => {
    expect(await failure(run([], { mode: 'dygraph' }))).toMatchObject({ code: 'GPUPS_DYGRAPH' })
    const error = await failure(run(['runner.reader_type=QueueDataset']))
    expect(isUserError(error)).toBe(true)
    expect(error!.message).toMatch(/QueueDataset cannot feed sync_mode gpubox/)
  })

  test('a device that is lost: passes that ended are saved, and --resume goes on behind them', async () => {
    const overrides = ['runner.epochs=1', 'runner.pass_memory=60kB', 'runner.model_save_path=lost']
    let job: { runtime: { fail(error: Error): void } } | undefined
    const lost = new UserError('A card was lost.', { code: 'DEVICE_LOST' })
    // Which pass is under way when the failure arrives depends on the machine; the one that ended last does not go with it.
    let ended = -1
    const emit = (event: Event) => {
      if (event.kind === 'passEnd') ended = event.pass
      if (event.kind === 'batch' && event.batch === 25) job!.runtime.fail(lost)
    }
    const open = (context: Parameters<ReturnType<typeof overPasses>>[0]) => {
      const opened = overPasses()(context)
      job = opened as never
      return opened
    }
    const config = load('runner.sync_mode=gpubox', ...overrides)
    const error = await failure(train({ config, emit }, open))
    expect(error).toMatchObject({ code: 'DEVICE_LOST', hint: expect.stringMatching(/saved in .*lost.*--resume/) })
    const resumed = await run(overrides, { resume: true })
    expect(ended).toBeGreaterThan(0)
    expect(resumed.of('passBegin')[0]!.pass).toBe(ended + 1)
    const whole = await run(['runner.epochs=1', 'runner.pass_memory=60kB', 'runner.model_save_path='])
    expect(resumed.result.digest).toBe(whole.result.digest)
  })

  test('a bad line of a pass that is prepared: the pass before it is trained and saved', async () => {
    const own = await mkdtemp(join(tmpdir(), 'oarfish-gpubox-'))
    const bad = join(own, 'bad')
    await writeFile(bad, 'click:1 user:oops x:1 x:2\n')
    const events: Event[] = []
    const good = join(folder, 'data/train/part-0')
    const rules = { filesOf: (epoch: number) => [epoch === 0 ? good : bad] }
    const emit = (event: Event) => events.push(event)
    const error = await failure(run(['runner.epochs=2', `runner.model_save_path=${own}/saved`], { rules, emit }))
    expect(error!.message).toMatch(/oops/)
    expect(events.filter(({ kind }) => kind === 'passEnd' || kind === 'saved')).toHaveLength(2)
    await rm(own, { recursive: true })
  })
})

const NET = fileURLToPath(new URL('../../models/rank/dnn/model.ts', import.meta.url))

test.each([
  ['the plain width', 'size: [1024, dim]', 'emb'],
  ['dim + 2 and the CVM', 'size: [1024, dim + 2]', 'nn.continuousValueModel(emb, showClick, false)'],
])('a net that asks for sync_mode trains with %s', async (_, size, use) => {
  const own = await mkdtemp(join(tmpdir(), 'oarfish-gpubox-'))
  const { readFile } = await import('node:fs/promises')
  const branch = `const parts = slots.map((input) => {
      const emb = nn.sparseEmbedding({ input, ${size}, name: 'embedding' })
      return ${use}
    })
    const rows = run.sync_mode === 'gpubox' ? concat(parts, 1) : nn.embedding(slots, { name: 'embedding', dim })`
  const text = (await readFile(NET, 'utf8'))
    .replace('sparse_feature_dim: dim, fc_sizes })', 'sparse_feature_dim: dim, fc_sizes }, run)')
    .replace(
      /const rows = nn.embedding.*/,
      `const showClick = cast(concat([ones, click], 1), 'float32')\n    ${branch}`,
    )
    .replace('const showClick', 'const ones = mul(click, 0)\n    const showClick')
    .replace('concat, mean, softmax', 'cast, concat, mean, mul, softmax')
  await writeFile(join(own, 'model.ts'), text)
  const data = fileURLToPath(new URL('../../models/rank/dnn/data/sample_data/train', import.meta.url))
  await writeFile(
    join(own, 'config.yaml'),
    `runner:\n  train_data_dir: ${data}\n  train_batch_size: 100\n  epochs: 2\n  use_auc: True\n  sync_mode: gpubox\n  reader_type: InMemoryDataset\n  use_fleet: True\n  model_save_path: ""\nhyper_parameters:\n  fc_sizes: [32]\n`,
  )
  const config = loadConfig({ path: join(own, 'config.yaml'), overrides: [], cwd: own })
  const { metrics } = await train({ config, emit: () => undefined }, overPasses())
  expect(metrics['loss']).toBeLessThan(0.69)
  await rm(own, { recursive: true })
})
