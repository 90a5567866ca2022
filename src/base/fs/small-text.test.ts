/** @file Manifests that are none: refused unread. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { localFiles } from './local.ts'
import { readSmallText } from './small-text.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'small-text-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('what is larger than any manifest is not read', async () => {
  const path = join(folder, 'manifest.json')
  writeFileSync(path, '{}')
  expect(await readSmallText(path)).toBe('{}')
  truncateSync(path, 2 ** 40) // a terabyte without blocks
  await expect(readSmallText(path)).rejects.toMatchObject({ code: 'EFBIG' })
})

test('a pipe without a writer and a device are named at once, not waited for', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, '/dev/zero']) {
    await expect(readSmallText(path)).rejects.toMatchObject({ code: 'ENOTFILE' })
    await expect(localFiles.open(path)).rejects.toThrow(/this is a (named pipe|device), not a file/)
    expect(() => localFiles.size(path)).toThrow(/not a file/)
  }
})
