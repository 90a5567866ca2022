import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { capture } from './capture.testing.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-published-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const prepare = (name: string) => capture(['data', name, '--from', folder, '--out', join(folder, 'out')])

test('amazon-sequences makes a history a line and says how many items there are', async () => {
  await writeFile(join(folder, 'Video.txt'), '1 7\n1 9\n1 3\n2 9\n2 4\n')
  const { code, out } = await prepare('amazon-sequences')
  expect(code).toBe(0)
  expect(out).toContain('hyper_parameters.item_num=9')
  expect(await readFile(join(folder, 'out/train/part-000'), 'utf8')).toBe('7 9 3\n9 4\n')
  expect(await readFile(join(folder, 'out/test/part-000'), 'utf8')).toBe('7 9 3\n9 4\n')
})

test.each([
  ['1 7\n2 9\n1 3\n', ':3', 'user 1 came before'],
  ['1 7\n1\n', ':2', 'expected 2 columns, found 1'],
  ['1 7\n1 0\n', ':2', 'expected the number of an item'],
])('amazon-sequences refuses %j at its line', async (text, line, message) => {
  await writeFile(join(folder, 'Video.txt'), text)
  const { code, err } = await prepare('amazon-sequences')
  expect(code).toBe(2)
  expect(err).toContain(`Video.txt${line}`)
  expect(err).toContain(message)
})

test('movielens joins ratings with users and films, in tabs or bars, and splits them', async () => {
  await writeFile(join(folder, 'u.user'), 'user|age|gender|occupation|zip\n1|24|M|technician|85711\n')
  const film = `|01-Jan-1995||http://x|${Array.from({ length: 19 }, (_, i) => (i === 3 ? 1 : 0)).join('|')}`
  await writeFile(join(folder, 'u.item'), Array.from({ length: 40 }, (_, i) => `${i + 1}|Film${film}\n`).join(''))
  const ratings = Array.from({ length: 40 }, (_, i) => `1\t${i + 1}\t${1 + (i % 5)}\t881250949\n`)
  await writeFile(join(folder, 'u.data'), ratings.join(''))
  const { code, out } = await prepare('movielens')
  expect(code).toBe(0)
  expect(out).toContain('hyper_parameters.sparse_inputs_slots=9')
  const [train, test] = await Promise.all(
    ['train', 'test'].map((part) => readFile(join(folder, 'out', part, 'part-000'), 'utf8')),
  )
  const rows = [...train!.trim().split('\n'), ...test!.trim().split('\n').filter(Boolean)]
  expect(rows).toHaveLength(40)
  expect(rows.filter((row) => row.startsWith('click:1'))).toHaveLength(16)
  expect(rows[0]).toMatch(/^click:[01] dense_feature:0\.2400 dense_feature:0\.\d{4} 1:\d+ 2:\d+ .* 8:\d+$/)
})

test('a missing file is named', async () => {
  const { code, err } = await prepare('movielens')
  expect([code, err]).toEqual([2, expect.stringContaining('There is no file u.user.')])
})
