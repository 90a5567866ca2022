import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { gunzipFile } from './gunzip.ts'
import { localFiles } from './local.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-fs-'))
const put = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

test('a folder is listed by name, without subfolders but with links that lead nowhere', async () => {
  const at = join(folder, 'list')
  mkdirSync(join(at, 'sub'), { recursive: true })
  for (const name of ['b', 'a10', 'a2', 'Z']) put(`list/${name}`, '')
  symlinkSync(join(at, 'nothing'), join(at, 'link'))
  expect(await localFiles.list(at)).toEqual(['Z', 'a10', 'a2', 'b', 'link'].map((name) => join(at, name)))
  await expect(localFiles.list(join(folder, 'no'))).rejects.toThrow('ENOENT')
})

test('a range is read whole, and short only at the end of the file', async () => {
  const file = await localFiles.open(put('range', 'abcdefgh'))
  const bytes = Buffer.alloc(4)
  expect([await file.read(bytes, 2), bytes.toString()]).toEqual([4, 'cdef'])
  expect([await file.read(bytes, 6), bytes.subarray(0, 2).toString()]).toEqual([2, 'gh'])
  expect([await file.read(bytes, 9), file.bytes]).toEqual([0, 8])
  await file.close()
})

const textOf = async (path: string) => {
  const pieces: Uint8Array[] = []
  for await (const { data } of gunzipFile(localFiles, path)) pieces.push(data)
  return Buffer.concat(pieces).toString()
}

test('gzip members one after another are one content', async () => {
  expect(await textOf(put('two.gz', Buffer.concat([gzipSync('one '), gzipSync('two')])))).toBe('one two')
})

test('a gzip file that is cut off, damaged or missing fails', async () => {
  const whole = gzipSync('x'.repeat(100_000) + Math.random())
  await expect(textOf(put('cut.gz', whole.subarray(0, whole.length - 4)))).rejects.toThrow('unexpected end of file')
  await expect(textOf(put('text.gz', 'not gzip'))).rejects.toThrow('incorrect header check')
  await expect(textOf(join(folder, 'no.gz'))).rejects.toThrow('ENOENT')
})
