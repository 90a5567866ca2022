/** @file What the workers of a job read: every sample once, by every kind of reader, however many workers and files there are. */
import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tinyFolder } from '../train/tiny.testing.ts'
import { type JobOptions, startJob } from './job.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  await copyFile(fileURLToPath(new URL('../fixtures/python-reader/reader.ts', import.meta.url)), join(folder, 'my.ts'))
  await copyFile(join(folder, 'static_model.ts'), join(folder, 'plain_model.ts'))
  await writeFile(join(folder, 'own.ts'), ownReader(0))
  await writeFile(join(folder, 'slow.ts'), ownReader(40))
  await writeFile(
    join(folder, 'static_model.ts'),
    `${await readFile(join(folder, 'plain_model.ts'), 'utf8')}\n${ownReader(0)}`,
  )
  await asTables()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Result {
  readonly samples: number
  readonly digest?: string
}

async function run(options: Omit<JobOptions, 'path'>) {
  const overrides = ['runner.model_save_path=', ...(options.overrides ?? [])]
  const job = await startJob({ path: join(folder, 'config.yaml'), ...options, overrides })
  try {
    await job.success()
    const workers = job.processes.filter(({ name }) => name.startsWith('worker'))
    const ofKind = (kind: string) => workers.map(({ events }) => events.filter((event) => event['kind'] === kind))
    return {
      results: ofKind('result').map(([result]) => result as unknown as Result),
      notices: ofKind('notice').map((events) => events.map(({ message }) => String(message))),
    }
  } finally {
    job.kill()
  }
}

const PIPE = ['runner.pipe_command=cat', 'runner.data_format=slot']
const MEMORY = ['runner.reader_type=InmemoryDataset', ...PIPE]
const COLUMNS = ['runner.columns.click=label', 'runner.columns.x=[x1,x2]']
const LISTS = ["runner.columns.tags.split='|'", "runner.columns.history.split='|'"]

describe('every reader type trains the same model under the parameter server', () => {
  const digests = new Set<string>()
  test.each<[string, readonly string[]]>([
    ['slot text', []],
    ['QueueDataset with a pipe', ['runner.reader_type=QueueDataset', ...PIPE]],
    [
      'QueueDataset with a data generator',
      ['runner.reader_type=QueueDataset', 'runner.pipe_command=oarfish reader my.ts'],
    ],
    ['InmemoryDataset', MEMORY],
    ['RecDataset', ['runner.reader_type=RecDataset', 'runner.train_reader_path=own']],
    ['CustomizeDataLoader', ['runner.reader_type=CustomizeDataLoader']],
    ['CSV', ['runner.train_data_dir=csv/train', 'runner.test_data_dir=csv/test', ...COLUMNS, ...LISTS]],
    ['Parquet', ['runner.train_data_dir=parquet/train', 'runner.test_data_dir=parquet/test', ...COLUMNS, ...LISTS]],
  ])('%s', async (_, overrides) => {
    // Each file is one chunk whatever reads it, so that the workers' parts are the same as well.
    const job = { workers: 2, servers: 1, options: { digest: true } }
    const { results } = await run({ ...job, overrides: [...overrides, 'runner.sync_mode=sync'] })
    expect(results.map(({ samples }) => samples)).toEqual([960, 960])
    digests.add(results[0]!.digest!)
    expect(digests.size).toBe(1)
  })
})

test('a job without sync_mode says that it trains in async', async () => {
  const { notices } = await run({ workers: 1, servers: 1 })
  expect(notices[0]).toContain('runner.sync_mode is not set: async is used')
})

describe('the split', () => {
  test.each(['sync', 'async'])('with more workers than files leaves one idle, and says so (%s)', async (mode) => {
    const overrides = [`runner.sync_mode=${mode}`, 'runner.split_file_list=True']
    const { results, notices } = await run({ workers: 4, servers: 1, overrides })
    expect(results.map(({ samples }) => samples)).toEqual([960, 960, 960, 960])
    expect(notices[3]).toContainEqual(
      expect.stringMatching(
        /^worker\[3\] has nothing of its own to read: the data can be dealt out in 3 pieces only\./,
      ),
    )
    expect(notices[0]!.some((message) => message.includes('nothing of its own'))).toBe(false)
  })

  test('of equal files says at every start what PaddleRec would do with split_file_list: False', async () => {
    const meaning =
      /With split_file_list: False PaddleRec would have every worker read all of them, each sample 2 times/
    const told = async (split: string) => {
      const { notices } = await run({ workers: 2, servers: 1, overrides: [`runner.split_file_list=${split}`] })
      return notices.map((own) => own.filter((message) => meaning.test(message)).length)
    }
    expect(await told('False')).toEqual([1, 1])
    expect(await told('True')).toEqual([0, 0])
  })

  test('in async gives a fast worker what a slow one has not begun', async () => {
    const many = join(folder, 'many')
    await mkdir(many)
    for (let i = 0; i < 8; i++) await copyFile(join(folder, 'data/train/part-0'), join(many, `part-${i}`))
    const overrides = ['runner.reader_type=RecDataset', 'runner.train_data_dir=many', 'runner.train_reader_path=own']
    const own = { 'worker 1': { overrides: ['runner.train_reader_path=slow'] } }
    const { results, notices } = await run({ workers: 2, servers: 1, overrides, own })
    expect(results.map(({ samples }) => samples)).toEqual([8 * 320, 8 * 320])
    expect(notices[0]).toContainEqual(
      expect.stringMatching(/^epoch 0, train: worker\[0\] read [567] of 8 chunks, [123] of them for slower workers\.$/),
    )
  })

  test('tells how many examples there are: before training of plain text, after the first pass of compressed files', async () => {
    const packed = join(folder, 'data', 'packed')
    await mkdir(packed)
    for (const part of await readdir(join(folder, 'data/train')))
      await writeFile(join(packed, `${part}.gz`), gzipSync(await readFile(join(folder, 'data/train', part))))
    for (const data of ['data/train', 'data/packed']) {
      const overrides = [`runner.train_data_dir=${data}`, 'runner.epochs=2']
      const { notices } = await run({ workers: 2, servers: 1, overrides })
      for (const said of notices)
        expect(said.filter((message) => message.startsWith('Total example'))).toEqual(['Total example: 960'])
    }
  })

  test('is none where workers have files of their own', async () => {
    await cp(join(folder, 'data/test'), join(folder, 'data/other'), { recursive: true })
    const own = { 'worker 1': { overrides: ['runner.train_data_dir=data/other'] } }
    const { results, notices } = await run({ workers: 2, servers: 1, own })
    expect(results[0]!.samples).toBe(960 + 320)
    expect(notices[1]).toContain('The workers have different files: each reads all of its own, worker[1] has 1.')
  })
})

describe('global_shuffle', () => {
  const shuffled = [...MEMORY, 'runner.global_shuffle=True', 'runner.epochs=2', 'runner.sync_mode=sync']

  test('deals all samples out anew in each epoch, the same in each run and by seed', async () => {
    const job = { workers: 2, servers: 2, options: { digest: true } }
    const first = await run({ ...job, overrides: shuffled })
    expect(first.results.map(({ samples }) => samples)).toEqual([1920, 1920])
    const again = await run({ ...job, overrides: shuffled })
    expect(again.results[0]!.digest).toBe(first.results[0]!.digest)
    const local = await run({ ...job, overrides: shuffled.map((key) => key.replace('global_', 'local_')) })
    expect(local.results[0]!.digest).not.toBe(first.results[0]!.digest)
  })
})

/** A user's reader of slot text that takes `ms` milliseconds for some samples. */
function ownReader(ms: number): string {
  return `import { readFileSync } from 'node:fs'
export class RecDataset {
  constructor(readonly files: readonly string[]) {}
  async *[Symbol.asyncIterator]() {
    let n = 0
    for (const line of readFileSync(this.files[0]!, 'utf8').trim().split('\\n')) {
      if (${ms} > 0 && n++ % 10 === 0) await new Promise((resolve) => setTimeout(resolve, ${ms}))
      const sample: Record<string, (string | number)[]> = {}
      for (const word of line.split(' ')) {
        const [name = '', value = ''] = word.split(':')
        ;(sample[name] ??= []).push(name === 'x' ? Number(value) : value)
      }
      yield sample
    }
  }
}
`
}

/** The same data as CSV and as Parquet. */
async function asTables(): Promise<void> {
  for (const part of ['train', 'test']) {
    for (const kind of ['csv', 'parquet']) await mkdir(join(folder, kind, part), { recursive: true })
    for (const name of await readdir(join(folder, 'data', part))) {
      const lines = (await readFile(join(folder, 'data', part, name), 'utf8')).trim().split('\n')
      const of = (line: string, slot: string) =>
        [...line.matchAll(new RegExp(`\\b${slot}:(\\S+)`, 'g'))].map((match) => match[1]!)
      const rows = lines.map((line) =>
        [
          of(line, 'user'),
          of(line, 'click'),
          of(line, 'tags').join('|'),
          of(line, 'history').join('|'),
          ...of(line, 'x'),
        ].join(','),
      )
      await writeFile(join(folder, 'csv', part, `${name}.csv`), `user,label,tags,history,x1,x2\n${rows.join('\n')}\n`)
      const ids = (slot: string) => lines.map((line) => BigInt(of(line, slot)[0]!))
      const lists = (slot: string) => lines.map((line) => of(line, slot).join('|'))
      const buffer = parquetWriteBuffer({
        columnData: [
          { name: 'user', data: ids('user'), type: 'INT64' },
          { name: 'label', data: ids('click'), type: 'INT64' },
          { name: 'tags', data: lists('tags'), type: 'STRING' },
          { name: 'history', data: lists('history'), type: 'STRING' },
          ...[0, 1].map((i) => ({
            name: `x${i + 1}`,
            data: lines.map((line) => Number(of(line, 'x')[i])),
            type: 'FLOAT' as const,
          })),
        ],
      })
      await writeFile(join(folder, 'parquet', part, `${name}.parquet`), new Uint8Array(buffer))
    }
  }
}
