/** @file Where a follower goes by the log alone: over what cannot be had, and never in circles. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LoadedExport } from '../export/index.ts'
import { VERSIONS_FILE, type Version, versionLine } from '../versions/index.ts'
import { Follower } from './follow.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'oarfish-follower-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Each follows the one before it. */
const logOf = (...places: readonly (readonly [kind: Version['kind'], pass: number, id?: string])[]) => {
  const versions: Version[] = []
  for (const [i, [kind, pass, id = `${kind}-${pass}`]] of places.entries()) {
    const before = versions.at(-1)
    const base = kind === 'base' ? id : before!.base
    const place = { sequence: i + 1, kind, day: '20190720', pass, path: id, id, follows: before?.id ?? null, base }
    versions.push({ ...place, rows: 0, gone: 0, bytes: 0, publishedAt: '2019-07-20T00:00:00Z' })
  }
  return versions
}
const publish = (versions: readonly Version[]) =>
  writeFileSync(join(root, VERSIONS_FILE), versions.map(versionLine).join(''))

const followerOf = (damaged: readonly string[] = []) =>
  new Follower({
    root,
    emit: () => undefined,
    show: () => undefined,
    load: async (model) => {
      if ('folder' in model && damaged.some((id) => model.folder.endsWith(id))) throw new Error('damaged')
      return { tables: [] } as unknown as LoadedExport
    },
  })

test('a delta that cannot be read is passed over when a later base is there', async () => {
  const versions = logOf(['base', 1], ['delta', 2], ['delta', 3], ['base', 4], ['delta', 5])
  publish(versions.slice(0, 1))
  const follower = followerOf(['delta-2'])
  await follower.start()
  publish(versions.slice(0, 3))
  await follower.look()
  expect(follower.state).toMatchObject({ version: '20190720/1', waiting: 'damaged' })
  publish(versions)
  await follower.look()
  expect(follower.state).toMatchObject({ version: '20190720/5', waiting: null, lagSeconds: 0 })
})

test('versions of which one has the id of another do not lead in circles', async () => {
  publish(logOf(['base', 1], ['delta', 2]))
  const follower = followerOf()
  await follower.start()
  publish(logOf(['base', 1], ['delta', 2], ['base', 3, 'base-1'], ['delta', 4]))
  await follower.look()
  expect(follower.state.sequence).toBeGreaterThan(1)
})

test('behind a trainer that begins anew it says what it waits for', async () => {
  publish(logOf(['base', 1], ['delta', 2]))
  const follower = followerOf()
  await follower.start()
  publish(logOf(['base', 1, 'other']))
  await follower.look()
  expect(follower.state).toMatchObject({
    version: '20190720/2',
    waiting: 'its trainer goes on from an earlier version',
  })
})
