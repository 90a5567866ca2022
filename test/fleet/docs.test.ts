/** @file docs/guide/fleet.md: its program runs as it stands, alone and launched, and its tables say what the code does. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { fleet } from '../../src/fleet.ts'
import { openExport, Scorer } from '../../src/inference/export/index.ts'
import { A_SYNC_CONFIGS } from '../../src/paddle/fleet/index.ts'
import { noneAlive, run } from '../cluster/launch.testing.ts'

vi.setConfig({ testTimeout: 150_000 })

const text = readFileSync(fileURLToPath(new URL('../../docs/guide/fleet.md', import.meta.url)), 'utf8')
const blocks = [...text.matchAll(/```(\w*)\n(.*?)```/gs)].map(([, language, code]) => ({ language, code: code! }))

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'oarfish-fleet-docs-'))
  await writeFile(join(cwd, 'program.ts'), blocks.find(({ language }) => language === 'ts')!.code)
  execFileSync('sh', ['-c', blocks.find(({ code }) => code.startsWith('mkdir'))!.code], { cwd })
})
afterAll(() => rm(cwd, { recursive: true, force: true }))

test('the program trains and saves on two workers and two servers', async () => {
  const args = ['launch_ps', '--worker_num', '2', '--server_num', '2', '--start_port', '26220', 'program.ts']
  const { code, out, err, mark } = await run('oarfish', args, { cwd, timeoutMs: 120_000 })
  expect(code, out + err).toBe(0)
  expect(await noneAlive(mark)).toEqual([])
  expect(await readFile(join(cwd, 'logs/workerlog.0'), 'utf8')).toContain('epoch 4: 600 samples on 2 workers')
  const scorer = await Scorer.open(await openExport(join(cwd, 'model')))
  expect(scorer.manifest.slots.filter(({ needed }) => needed).map(({ name }) => name)).toEqual(['ids'])
  await scorer.close()
})

test('the program trains in one process', async () => {
  const { code, out, err } = await run('oarfish', ['exec', 'program.ts'], { cwd, timeoutMs: 120_000 })
  expect(code, out + err).toBe(0)
  expect(out).toContain('epoch 4: 600 samples on 1 workers')
  expect(out).toContain("initWorker() function doesn't work when use non_distributed fleet.")
})

test('the table of aSyncConfigs has every key, its default and its effect', () => {
  for (const [key, { value, effect }] of Object.entries(A_SYNC_CONFIGS)) {
    const paddle = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    expect(text).toContain(`| \`${key}\` | \`${paddle}\` | ${JSON.stringify(value)} | ${effect} |`)
  }
})

test('every call of fleet that the table names exists', () => {
  const named = [...text.matchAll(/fleet\.(util\.)?(\w+)\(/g)].map(([, util, name]) => [util, name!] as const)
  expect(named.length).toBeGreaterThan(20)
  for (const [util, name] of named.filter(([, name]) => /^[a-z][a-zA-Z]*$/.test(name)))
    expect((util ? fleet.util : fleet) as object, name).toHaveProperty(name)
})
