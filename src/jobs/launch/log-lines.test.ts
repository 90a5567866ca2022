import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LineReader, lastLines } from './log-lines.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-log-'))
  path = join(folder, 'workerlog.0')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('lines come once, when they are complete, also when a character is written in two pieces', async () => {
  const reader = new LineReader(path)
  expect(reader.read()).toEqual([])
  await writeFile(path, 'one\ntw')
  expect(reader.read()).toEqual(['one'])
  const bytes = Buffer.from('o 轮\n')
  await appendFile(path, bytes.subarray(0, 3))
  expect(reader.read()).toEqual([])
  await appendFile(path, bytes.subarray(3))
  expect(reader.read()).toEqual(['two 轮'])
})

test('the end of a process ends its last line', async () => {
  await writeFile(path, 'whole\nhalf')
  const reader = new LineReader(path)
  expect(reader.read(true)).toEqual(['whole', 'half'])
  expect(reader.read(true)).toEqual([])
})

test('the last lines of a large file are found without reading all of it, empty ones left out', async () => {
  await writeFile(path, `${`${'x'.repeat(99)}\n`.repeat(10_000)}a\n\nb\n`)
  expect(lastLines(path, 2)).toEqual(['a', 'b'])
  expect(lastLines(path, 1)).toEqual(['b'])
  expect(lastLines(join(folder, 'missing'), 2)).toEqual([])
})
