import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readLines } from './rec-dataset.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-lines-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function linesOf(text: string, name: string): Promise<string[]> {
  const path = join(folder, name)
  await writeFile(path, name.endsWith('.gz') ? gzipSync(text) : text)
  const lines: string[] = []
  for await (const line of readLines(name.startsWith('url') ? pathToFileURL(path) : path)) lines.push(line)
  return lines
}

test.each(['plain', 'packed.gz', 'url'])('lines of a %s file come whole, blank ones left out', async (name) => {
  expect(await linesOf('a b\r\n\n  \nc\t\nlast', name)).toEqual(['a b', 'c\t', 'last'])
})

test('lines and letters of several bytes may lie across the pieces in which a file is read', async () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => `${i} größer als 一块 ${'x'.repeat(i % 7)}`)
  expect(await linesOf(`${lines.join('\n')}\n`, 'long')).toEqual(lines)
  expect(await linesOf(lines.join('\n'), 'long.gz')).toEqual(lines)
})
