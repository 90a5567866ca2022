/** @file What ranks say of their parts of a cut, in its folder. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fromPlainError } from '../../base/util/index.ts'
import { finishAside, partsOfOthers } from './rank-cuts.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-rank-cuts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const never = new AbortController().signal

const part = { table: 0, part: { rows: 1, signs: 's', values: 'v' }, files: {}, rows: 1 }
const noRoom = () => Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }))

test('rank 0 hears what the others have written', async () => {
  expect(await finishAside(folder, 1, async () => ({ finish: async () => [part] }))).toBeUndefined()
  expect(await finishAside(folder, 2, async () => ({ finish: async () => [] }))).toBeUndefined()
  expect(await partsOfOthers(folder, 3, never)).toEqual([part])
})

test('a full disk of another rank is no reason to end the job', async () => {
  expect(await finishAside(folder, 1, async () => ({ finish: noRoom }))).toBeUndefined()
  await expect(partsOfOthers(folder, 2, never)).rejects.toMatchObject({ code: 'SNAPSHOT_DISK_FULL' })
})

test('a rank that does not reach the folder says so elsewhere, which ends the wait for it', async () => {
  const missing = join(folder, 'missing')
  const unsaid = await finishAside(missing, 1, () => Promise.reject(Object.assign(new Error(), { code: 'ENOENT' })))
  expect(unsaid).toMatchObject({ user: { code: 'SNAPSHOT_WRITE' } })
  const gaveUp = new AbortController()
  const waiting = partsOfOthers(missing, 2, gaveUp.signal)
  gaveUp.abort(fromPlainError(unsaid!))
  await expect(waiting).rejects.toMatchObject({ code: 'SNAPSHOT_WRITE' })
})
