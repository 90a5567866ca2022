/** @file A trainer that is started again under the name of its job: from which pass it goes on, and from which it never does. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openWorkspace, start, type Workspace } from './job.testing.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

let workspace: Workspace
let learned: string
beforeAll(async () => {
  workspace = openWorkspace()
  expect((await train('first')).trained).toEqual([0, 1, 2])
  learned = digest()
})
afterAll(() => workspace.remove())

const DIGEST = fileURLToPath(new URL('../checkpoint-digest.mjs', import.meta.url))
const pass = (number: number, file = '') => join(workspace.folder, `output/pass-0000${number}`, file)
const digest = () => execFileSync(process.execPath, [DIGEST, pass(2)], { encoding: 'utf8' })

/** Three passes for the job of this name; resolves to the passes that it trained. */
async function train(uid: string, env: NodeJS.ProcessEnv = {}) {
  const options = ['--config_args=size=8,batch_size=240', '--num_passes=3', '--save_dir=output', '--dot_period=0']
  const { out, err, ended } = await over(start('trainer', options, workspace.folder, { OARFISH_JOB_UID: uid, ...env }))
  expect(ended, err).toBe(0)
  return { out, trained: [...out.matchAll(/ Pass=(\d+) samples=/g)].map(([, number]) => Number(number)) }
}

async function over(trainer: ReturnType<typeof start>) {
  const ended = await trainer.ended
  return { out: trainer.out, err: trainer.err, ended }
}

test('the last pass is missing: what is left is trained, to the same weights', async () => {
  rmSync(pass(2), { recursive: true })
  const { out, trained } = await train('first')
  expect(trained).toEqual([2])
  expect(out).toContain('This job was started before: it goes on from output/pass-00001.')
  expect(digest()).toBe(learned)
})

test('a pass with a flipped bit, and one without a file, are passed over for the one before, which is said', async () => {
  const rows = readdirSync(pass(2)).find((name) => name.endsWith('.rows'))!
  const bytes = readFileSync(pass(2, rows))
  bytes[bytes.length >> 1]! ^= 4
  writeFileSync(pass(2, rows), bytes)
  rmSync(pass(1, 'dense.bin'))
  const { out, trained } = await train('first')
  expect(trained).toEqual([1, 2])
  expect(out).toMatch(/This saved pass is passed over: \S*pass-00002\S*[^\n]* checksum/)
  expect(out).toMatch(/This saved pass is passed over: \S*pass-00001\S*[^\n]* missing/)
  expect(digest()).toBe(learned)
})

test('all passes are there: nothing is trained twice', async () => {
  expect((await train('first')).trained).toEqual([])
  expect(digest()).toBe(learned)
})

test('passes of another job are not gone on from, unless that is asked for', async () => {
  rmSync(pass(2), { recursive: true })
  expect((await train('second', { OARFISH_RESUME: '1' })).trained).toEqual([2])
  rmSync(pass(2), { recursive: true })
  const { out, trained } = await train('third', { OARFISH_RESTART: '1' })
  expect(trained).toEqual([0, 1, 2])
  expect(out).toContain('This job was started before, and nothing of it is saved in output: it begins anew.')
})
