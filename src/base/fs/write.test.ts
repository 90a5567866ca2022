import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createFile, makeFolder, writeFolder } from './write.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-write-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const put = (content: string) => async (aside: string) => writeFileSync(join(aside, 'file'), content)

test('a file has everything that was written, also beyond what is flushed at a time', async () => {
  const file = await createFile(join(root, 'large'))
  const piece = new Uint8Array(20 * 1024 * 1024).fill(7)
  for (let i = 0; i < 4; i++) await file.write(piece)
  await file.close()
  expect(statSync(join(root, 'large')).size).toBe(4 * piece.length)
  await expect(createFile(join(root, 'large'))).rejects.toMatchObject({ code: 'EEXIST' })
})

test('a folder that cannot be created fails instead of trying for ever', async () => {
  await makeFolder(join(root, 'deep', 'down', 'below'))
  await makeFolder(join(root, 'deep', 'down', 'below'))
  expect(statSync(join(root, 'deep', 'down', 'below')).isDirectory()).toBe(true)
  writeFileSync(join(root, 'plain'), '')
  await expect(makeFolder(join(root, 'plain'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolder(join(root, 'plain', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  if (existsSync('/proc/self')) await expect(makeFolder('/proc/oarfish/0')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a folder is replaced as a whole, and others may read it', async () => {
  const folder = join(root, 'replaced', '0')
  await writeFolder(folder, put('first'))
  expect(await writeFolder(folder, (aside) => put('second')(aside).then(() => 'result'))).toBe('result')
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('second')
  expect(readdirSync(join(root, 'replaced'))).toEqual(['0'])
  expect(statSync(folder).mode & 0o777).toBe(0o777 & ~process.umask())
})

test('a folder that could not be filled leaves the one before it', async () => {
  const folder = join(root, 'kept', '0')
  await writeFolder(folder, put('first'))
  const broken = async (aside: string) => {
    await put('half')(aside)
    throw new Error('no more')
  }
  await expect(writeFolder(folder, broken)).rejects.toThrow('no more')
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('first')
  expect(readdirSync(join(root, 'kept'))).toEqual(['0'])
})

test('what a dead process left behind is removed, what a live one writes is not', async () => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid
  const [stale, live] = [`0.tmp-${hostname()}-${dead}-abc`, `0.tmp-${hostname()}-${process.ppid}-abc`]
  for (const name of [stale, live, '1.tmp-other']) mkdirSync(join(root, 'stale', name), { recursive: true })
  await writeFolder(join(root, 'stale', '0'), put('new'))
  expect(readdirSync(join(root, 'stale')).sort()).toEqual(['0', live, '1.tmp-other'].sort())
})

test('runs that save the same folder at once each put a whole one there', async () => {
  const folder = join(root, 'race', '0')
  await Promise.all(Array.from({ length: 5 }, (_, i) => writeFolder(folder, put(`run ${i}`)).catch(() => undefined)))
  expect(readFileSync(join(folder, 'file'), 'utf8')).toMatch(/^run \d$/)
  expect(readdirSync(join(root, 'race'))).toEqual(['0'])
})
