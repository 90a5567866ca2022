/** @file Online training killed at a few of its calls to the file system; `npm run chaos -- --online` takes all of them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openVersions, verifyVersions } from '../../src/inference/versions/index.ts'
import { fillDisk, type Ground, killAndGoOn, layGround } from './online-kills.ts'

let root: string
let ground: Ground
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'oarfish-online-kills-'))
  ground = await layGround(root)
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** The last call of a kind: its number. */
const callOf = (kind: RegExp) => ground.calls.findLastIndex((text) => kind.test(text)) + 1

test.each([
  ['a line that names a base is to be moved into its place', /^rename .*\/base_donefile\.txt/, false],
  ['the past is half removed', /^rm .*\/20190721\/delta-\d$/, true],
])('killed when %s, the same command ends with the same files', async (_, kind, isHalf) => {
  const call = callOf(kind)
  expect(call).toBeGreaterThan(0)
  expect(await killAndGoOn(ground, `kill-${call}`, [{ call, isHalf }])).toEqual([])
})

test('killed as it takes over the lock of one that was killed, the next one gets it', async () => {
  // A checkpoint is whole then, and has no line.
  const first = callOf(/^open .*\/donefile\.txt/)
  expect(await killAndGoOn(ground, 'locks', [{ call: first }, { call: 4 }, { call: 6 }])).toEqual([])
})

test('a disk that is full while a delta is published does not end training: the next delta brings what is missing', async () => {
  const {
    code,
    text,
    root: out,
    differ,
  } = await fillDisk(ground, 'full', callOf(/^open .*\/20190721\/delta-2\.tmp-.*\.delta/))
  expect([code, text]).toEqual([0, expect.stringContaining('NOT PUBLISHED: the delta of day 20190721, pass 2')])
  expect(differ.filter((name) => name.startsWith('20190722/0/'))).toEqual([])
  expect(differ).toContain('20190721/delta-2/inference/manifest.json: is missing')
  expect(await verifyVersions(openVersions(out))).toEqual([])
})
