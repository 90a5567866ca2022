import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { daysOf } from './days.ts'
import { addModel, addPublished, BATCH_PASS, lastModel, lastPublished } from './donefiles.ts'
import { firstPass } from './online-checkpoints.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-donefiles-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const text = (name: string) => readFile(join(folder, name), 'utf8')
const days = (runner: object) =>
  daysOf({
    path: 'config.yaml',
    runner: { start_day: '20190720', split_interval: 30, split_per_pass: 2, ...runner } as never,
  })

test('donefile.txt has tabs, and each pass of a day once', async () => {
  const model = { day: '20190720', pass: 7, key: '1563600000', path: 'output_model/20190720/7/' }
  expect(await addModel(folder, model)).toBe(true)
  expect(await addModel(folder, model)).toBe(false)
  await addModel(folder, { ...model, day: '20190721', pass: BATCH_PASS, path: 'output_model/20190721/0/' })
  expect(await text('donefile.txt')).toBe(
    '20190720\t1563600000\toutput_model/20190720/7/\t7\t0\n20190721\t1563600000\toutput_model/20190721/0/\t-1\t0\n',
  )
  expect(await lastModel(folder)).toMatchObject({ day: '20190721', pass: -1, key: '1563600000' })
})

test('bases and deltas have lines as Python writes JSON, and none of an earlier pass', async () => {
  const line = { id: '5', input: 'output_model/20190720/delta-7/000', monitor: 'AUC=0.5' }
  await addPublished(folder, { day: '20190720', pass: 7, key: '1' }, line)
  expect(await text('patch_donefile.txt')).toBe(
    '{"id": "5", "key": "1", "input": "output_model/20190720/delta-7/000", "monitor_data": "AUC=0.5"}\n',
  )
  expect(await lastPublished(folder, 'patch_donefile.txt')).toEqual({ day: '20190720', pass: 7, key: '1' })
  expect(await addPublished(folder, { day: '20190720', pass: 6, key: '1' }, line)).toBe(false)
  const base = { id: '9', input: 'output_model/20190721/base/000', monitor: '' }
  expect(await addPublished(folder, { day: '20190721', key: '9' }, base)).toBe(true)
  expect(await lastPublished(folder, 'base_donefile.txt')).toEqual({ day: '20190721', pass: undefined, key: '9' })
})

test('a line that cannot be read is named', async () => {
  await writeFile(join(folder, 'donefile.txt'), '20190720\t1\tx/\t1\t0\nrubbish\n')
  await expect(lastModel(folder)).rejects.toMatchObject({ code: 'ONLINE_DONEFILE', where: { line: 2 } })
})

test('passes of days are numbered, and training goes on behind the last model', () => {
  const { epochs, passes, at, epochOf } = days({ end_day: '20190722' })
  expect([passes, epochs]).toEqual([24, 72])
  expect(at(25)).toEqual({ day: '20190721', pass: 2, splits: ['0100', '0130'], isLast: false })
  expect(epochOf('20190721', 2)).toBe(25)
  const model = { key: '', path: 'x/' }
  expect(firstPass(days({}), undefined)).toBe(0)
  expect(firstPass(days({}), { day: '20190721', pass: 2, ...model })).toBe(26)
  expect(firstPass(days({}), { day: '20190722', pass: BATCH_PASS, ...model })).toBe(48)
  expect(days({}).epochs).toBe(Number.POSITIVE_INFINITY)
})

test.each([
  [{ start_day: '20190231' }, 'is not a day'],
  [{ end_day: '20190719' }, 'is before start_day'],
  [{ split_per_pass: 49 }, 'fewer than the 49 of a pass'],
])('%j is refused', (runner, message) => {
  expect(() => days(runner)).toThrow(message)
})
