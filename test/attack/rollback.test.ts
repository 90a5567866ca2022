/** @file Strangers at a server that follows a trainer, and malformed orders from one who has its token. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'
import { attack } from './attack.testing.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })
const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))
const TOKEN = 'hunter-2-of-the-server'
const NEWEST = '20190721/0'
const EARLIER = '20190720/1'

let folder: string
let server: ChildProcess
let url = ''
let printed = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-rollback-'))
  generateDemoDays({ out: join(folder, 'data'), start: '20190720', days: 1, splitInterval: 720, rows: 20, slots: 4 })
  const settings = ['runner.split_interval=720', 'hyper_parameters.slot_num=4', 'hyper_parameters.layer_sizes=[4]']
  const places = [`runner.train_data_dir=${join(folder, 'data')}`, 'runner.model_save_path=out']
  const overrides = [...places, ...settings, 'runner.delta_format=oarfish', 'runner.evaluate=none']
  const config = loadConfig({ path: CONFIG, cwd: folder, overrides: [...overrides, 'runner.end_day=20190720'] })
  await trainOnline({ config, emit: () => undefined })
  server = spawn(process.execPath, [BIN, 'serve', '--follow', join(folder, 'out'), '--port', '0'], {
    env: { ...process.env, OARFISH_ADMIN_TOKEN: TOKEN },
  })
  url = await new Promise<string>((resolve, reject) => {
    server.once('close', () => reject(new Error(printed)))
    for (const stream of [server.stdout!, server.stderr!])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        printed += piece
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)
        if (found) resolve(found[0])
      })
  })
})
afterAll(() => {
  server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const rollback = (at: string | null) =>
  fetch(`${url}/admin/rollback`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ at }),
  })
const healthOf = async () =>
  (await fetch(`${url}/healthz`)).json() as Promise<{ version: string; pinned: string | null }>
const told = (tried: readonly string[]) =>
  attack('admin', url.replace('http://', ''), { knows: { tried, version: EARLIER } })

test('strangers roll nothing back, whatever they send, and hear nothing of the folder', async () => {
  const short = TOKEN.slice(0, -1)
  const basic = Buffer.from(`admin:${TOKEN}`).toString('base64')
  const near = [short, `${TOKEN}x`, TOKEN.toUpperCase(), 'x'.repeat(8000), '', 'undefined', 'null']
  const proofs = ['', TOKEN, `bearer ${TOKEN}`, `Basic ${basic}`, 'Bearer', ...near.map((word) => `Bearer ${word}`)]
  const { in: believed, heard, statuses } = await told(['Bearer wrong', ...proofs])
  expect(believed).toBe(0)
  expect(statuses.filter((status) => status >= 500 || status === 0)).toEqual([])
  expect(statuses).toContain(403)
  expect(heard).not.toMatch(new RegExp(`${TOKEN}|${folder}|\\.[tj]s:\\d+`))
  expect(await healthOf()).toMatchObject({ version: NEWEST, pinned: null })
})

test('orders that are none are refused in words, also from one who has the token', async () => {
  const { heard, statuses } = await told([`Bearer ${TOKEN}`])
  expect(statuses.filter((status) => status >= 500 || status === 0)).toEqual([])
  expect(statuses).toEqual(expect.arrayContaining([200, 400, 404, 405, 413]))
  expect(heard.match(/^HTTP\/1\.1 200/gm)).toHaveLength(1) // the one order that is one
  expect(heard).not.toMatch(new RegExp(`root:|${folder}|\\.[tj]s:\\d+`))
  expect(printed).not.toMatch(new RegExp(`${TOKEN}|at file:`))
  expect(await healthOf()).toMatchObject({ version: EARLIER, pinned: EARLIER })
  expect((await rollback(null)).status).toBe(200)
  await expect.poll(healthOf, { timeout: 60_000 }).toMatchObject({ version: NEWEST, pinned: null })
})
