/** @file Every kind of reader trains the same model from the same samples. */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../src/base/event/index.ts'
import { type TinyRun, tinyFolder, trainTiny } from './tiny.testing.ts'

let folder: string
let plain: TinyRun
beforeAll(async () => {
  folder = await tinyFolder()
  await copyFile(fileURLToPath(new URL('../fixtures/python-reader/reader.ts', import.meta.url)), join(folder, 'my.ts'))
  plain = await trainTiny(folder, ['runner.model_save_path='])
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const CAT = ['runner.reader_type=QueueDataset', 'runner.pipe_command=cat', 'runner.data_format=slot']
const MEMORY = ['runner.reader_type=InmemoryDataset', 'runner.pipe_command=cat', 'runner.data_format=slot']
const QUEUE = (command: string) => ['runner.reader_type=QueueDataset', `runner.pipe_command=${command}`]
const trained = (...overrides: string[]) => trainTiny(folder, ['runner.model_save_path=', ...overrides])
const errorOf = async (...overrides: string[]) => String(await trained(...overrides).catch((error: unknown) => error))

describe('the same model comes from', () => {
  test.each([
    ['QueueDataset with cat', CAT],
    ['QueueDataset without a command', ['runner.reader_type=QueueDataset']],
    ['a data generator in TypeScript', QUEUE('oarfish reader my.ts')],
    ['InmemoryDataset', MEMORY],
    ['num_workers: 3', [...CAT, 'runner.num_workers=3']],
  ])('%s', async (_, overrides) => {
    const { result } = await trained(...overrides)
    expect(result.digest).toBe(plain.result.digest)
    expect(result.evaluation).toEqual(plain.result.evaluation)
  })

  test('CSV', async () => {
    for (const part of ['train', 'test']) {
      await mkdir(join(folder, 'csv', part), { recursive: true })
      for (const name of await readdir(join(folder, 'data', part))) {
        const text = await readFile(join(folder, 'data', part, name), 'utf8')
        await writeFile(join(folder, 'csv', part, `${name}.csv`), csvOf(text))
      }
    }
    const { result } = await trained(
      'runner.train_data_dir=csv/train',
      'runner.test_data_dir=csv/test',
      'runner.columns.click=label',
      'runner.columns.x=[x1,x2]',
      "runner.columns.tags.split='|'",
      "runner.columns.history.split='|'",
    )
    expect(result.digest).toBe(plain.result.digest)
  })
})

function csvOf(slotText: string): string {
  const rows = slotText
    .trim()
    .split('\n')
    .map((line) => {
      const of = (slot: string) => [...line.matchAll(new RegExp(`\\b${slot}:(\\S+)`, 'g'))].map((match) => match[1])
      return [of('user'), of('click'), of('tags').join('|'), of('history').join('|'), ...of('x')].join(',')
    })
  return `user,label,tags,history,x1,x2\n${rows.join('\n')}\n`
}

describe('CustomizeDataLoader', () => {
  const OWN = ['runner.reader_type=CustomizeDataLoader']
  test('reads with the class RecDataset of the model’s own file', async () => {
    expect(await errorOf(...OWN)).toMatch(/does not export a class RecDataset/)
    const model = join(folder, 'static_model.ts')
    const text = await readFile(model, 'utf8')
    await writeFile(model, `${text}\n${RECORDS}`)
    const { result } = await trained(...OWN)
    await writeFile(model, text)
    expect(result.digest).toBe(plain.result.digest)
  })
})

const RECORDS = `import { readFileSync } from 'node:fs'
export class RecDataset {
  constructor(readonly files: readonly string[]) {}
  *[Symbol.iterator]() {
    for (const line of readFileSync(this.files[0]!, 'utf8').trim().split('\\n')) {
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

describe('InmemoryDataset', () => {
  test('shuffles each epoch by seed when asked', async () => {
    const shuffled = [...MEMORY, 'runner.local_shuffle=True', 'runner.epochs=2']
    const [one, two] = [await trained(...shuffled), await trained(...shuffled, 'runner.num_workers=2')]
    expect(two.result.digest).toBe(one.result.digest)
    const [other, without] = [await trained(...shuffled, 'runner.seed=5'), await trained(...MEMORY, 'runner.epochs=2')]
    expect(new Set([one, other, without].map(({ result }) => result.digest)).size).toBe(3)
    expect(one.result.samples).toBe(1920)
  })

  test('is what local_shuffle needs', async () => {
    expect(await errorOf(...CAT, 'runner.local_shuffle=True')).toMatch(
      /QueueDataset does not support local shuffle, please use InmemoryDataset for local_shuffle/,
    )
  })
})

describe('a run stopped inside an epoch', () => {
  let saved = 0
  async function stopped(overrides: readonly string[]) {
    const controller = new AbortController()
    const path = join(folder, `saved-${saved++}`)
    const options = ['runner.epochs=2', `runner.model_save_path=${path}`]
    await trainTiny(folder, [...options, ...overrides], {
      signal: controller.signal,
      emit: (event: Event) => {
        if (event.kind === 'batch' && event.phase === 'train' && event.epoch === 1) controller.abort()
      },
    })
    return options
  }

  test.each([
    ['a pipe', CAT],
    ['samples in memory', [...MEMORY, 'runner.local_shuffle=True']],
  ])('goes on with %s bit for bit', async (_, overrides) => {
    const whole = await trained(...overrides, 'runner.epochs=2')
    const options = await stopped(overrides)
    const resumed = await trainTiny(folder, [...options, ...overrides], { resume: true })
    expect(resumed.result.samples).toBeLessThan(960)
    expect(resumed.result.digest).toBe(whole.result.digest)
  })

  test.each(['QueueDataset', 'InmemoryDataset'])(
    'is refused if the pipe of %s gives other samples then',
    async (type) => {
      const reader = [`runner.reader_type=${type}`, 'runner.data_format=slot']
      const options = await stopped([...reader, 'runner.pipe_command=cat'])
      const changed = [...options, ...reader, 'runner.pipe_command=sed 1s/user:[0-9]*/user:77/']
      await expect(trainTiny(folder, changed, { resume: true })).rejects.toThrow('the reader is not deterministic')
    },
  )
})

test('dataset_debug prints where the time went', async () => {
  const { events } = await trained(...CAT, 'runner.dataset_debug=True')
  const notices = events.flatMap((event) => (event.kind === 'notice' ? [event.message] : []))
  expect(notices).toContainEqual(
    expect.stringMatching(/^dataset_debug, train of epoch 0: read \S+ %, pull \S+ %, compute \S+ %, push \S+ %; /),
  )
})

test('a pipe that fails stops the run with its command and what it said', async () => {
  expect(await errorOf(...QUEUE('no-such-reader'))).toMatch(/the command was not found \(exit status 127\)/)
  expect(await errorOf(...QUEUE('oarfish reader none.ts'))).toMatch(/ended with exit status 2/)
})
