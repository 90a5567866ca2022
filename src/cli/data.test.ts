import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { capture } from './capture.testing.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-data-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('criteo-like writes train/ and test/, and prints the AUC of its hidden model and how to train', async () => {
  const { code, out } = await capture(['data', 'criteo-like', '--rows', '200', '--parts', '2', '--out', folder])
  expect(code).toBe(0)
  expect(out).toContain('Wrote 200 training and 20 test rows')
  expect(out).toMatch(/AUC on the test rows, which no model beats: [01]\.\d{4}\./)
  expect(out).toContain(`runner.train_data_dir=${join(folder, 'train')}`)
  expect(await readdir(join(folder, 'train'))).toEqual(['part-000', 'part-001'])
  expect((await readFile(join(folder, 'test/part-000'), 'utf8')).split('\n')).toHaveLength(21)
})

test('the command that criteo-like prints to train can be copied into a shell where the folder has a space', async () => {
  const out = join(folder, 'my data')
  const printed = await capture(['data', 'criteo-like', '--rows', '10', '--parts', '1', '--out', out])
  expect(printed.out).toContain(` 'runner.train_data_dir=${out}/train' 'runner.test_data_dir=${out}/test'\n`)
})

test('a file in the place of the output folder is something to mend', async () => {
  const out = join(folder, 'file')
  await writeFile(out, '')
  const { code, err } = await capture(['data', 'criteo-like', '--rows', '10', '--out', out])
  expect([code, err]).toEqual([2, expect.stringContaining('The output folder cannot be written: ENOTDIR')])
})

test('criteo-like --json prints one line, without a hint for columns that need a reader', async () => {
  const { out } = await capture([
    'data',
    'criteo-like',
    '--rows',
    '10',
    '--parts',
    '1',
    '--format',
    'criteo-tsv',
    '--json',
    '--out',
    folder,
  ])
  expect(JSON.parse(out)).toMatchObject({ kind: 'generated', trainRows: 10, testRows: 1 })
})

test.each([
  [['--format', 'slots'], '--format: expected slot | multislot | criteo-tsv, got "slots" - did you mean "slot"?\n'],
  [['--rows', 'many'], "error: option '--rows <n>' argument 'many' is invalid. Expected a whole number.\n"],
])('criteo-like refuses %j', async (options, err) => {
  expect(await capture(['data', 'criteo-like', '--out', folder, ...options])).toEqual({ code: 2, out: '', err })
})

test('data alone prints its help', async () => {
  const { code, err } = await capture(['data'])
  expect(code).toBe(2)
  expect(err).toContain('criteo-like [options]')
})
