/** @file The programs under examples/ that use fluid, run as a user runs them. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../cluster/launch.testing.ts'
import { cleanEnv, exec } from './process.testing.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-fluid-'))
  cpSync(join(ROOT, 'examples/ctr'), folder, { recursive: true })
  const args = ['data', 'criteo-like', '--format', 'criteo-tsv', '--rows', '5000', '--parts', '5', '--out', 'data']
  const { code, err } = await run('oarfish', args, { cwd: folder })
  expect([code, err]).toEqual([0, ''])
  renameSync(join(folder, 'data/train'), join(folder, 'raw_data'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('criteo_reader', () => {
  const raw = () => readFileSync(join(folder, 'raw_data/part-0'), 'utf8').split('\n').slice(0, 50).join('\n')
  const typescript = () => {
    const bin = join(ROOT, 'bin/oarfish.js')
    return spawnSync(process.execPath, [bin, 'exec', 'criteo_reader.ts', '1000001'], {
      ...{ cwd: folder, env: cleanEnv(), input: raw(), encoding: 'utf8' },
    })
  }

  test('writes 13 dense values, 26 hashed ids and the label', () => {
    const { status, stdout, stderr } = typescript()
    expect([status, stderr]).toEqual([0, ''])
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(50)
    for (const line of lines) expect(line).toMatch(/^13( [\d.e-]+){13}( 1 \d+){26} 1 [01]$/)
  })

  test.skipIf(spawnSync('python3', ['--version']).status !== 0)('gives the same numbers in Python', () => {
    const env = { ...cleanEnv(), PYTHONPATH: join(ROOT, 'python') }
    const options = { cwd: folder, env, input: raw(), encoding: 'utf8' } as const
    const python = spawnSync('python3', ['criteo_reader.py', '1000001'], options)
    expect([python.status, python.stderr]).toEqual([0, ''])
    const numbers = (text: string) => text.split('\n').map((line) => line.split(' ').map(Number))
    expect(numbers(python.stdout)).toEqual(numbers(typescript().stdout))
  })
})

describe('train_local.ts', () => {
  test('trains on four fifths of the files and leaves a model of every epoch that predicts', async () => {
    const program = exec(
      'train_local.ts',
      ['--epochs', '2', '--thread_num', '2', '--sparse_feature_dim', '10001'],
      folder,
    )
    const code = await program.ended
    expect(code, program.err).toBe(0)
    expect(program.out).toMatch(/time: \[.*\], batch: \[0\], auc\[1\]:\[0\.\d+\]/)
    expect(program.err).toContain('epoch1 finished\n')
    expect(readdirSync(join(folder, 'models')).sort()).toEqual(['epoch1.model', 'epoch2.model'])
    expect(existsSync(join(folder, 'models/epoch2.model/fluid.json'))).toBe(true)
    const { steps } = JSON.parse(readFileSync(join(folder, 'models/epoch2.model/manifest.json'), 'utf8'))
    expect(steps).toBe((2 * 4000) / 100)
    const bin = join(ROOT, 'bin/oarfish.js')
    const lines = `cat raw_data/part-4 | head -20 | ${process.execPath} ${bin} exec criteo_reader.ts 10001 > lines`
    expect(spawnSync('sh', ['-c', lines], { cwd: folder, env: cleanEnv() }).status).toBe(0)
    const predicted = await run('oarfish', ['predict', '--model', 'models/epoch2.model', 'lines'], { cwd: folder })
    expect(predicted.err).toBe('')
    const scores = predicted.out.trimEnd().split('\n').map(Number)
    expect(scores).toHaveLength(20)
    for (const score of scores) expect(score > 0 && score < 1).toBe(true)
  })
})

describe('fluid_dist.ts', () => {
  test('stops under launch_ps, which sets other variables, with its own words and a hint', async () => {
    const program = join(ROOT, 'examples/fit_a_line/fluid_dist.ts')
    const args = ['launch_ps', '--worker_num', '2', '--server_num', '2', '--start_port', '26170', program]
    const { code, err, out } = await run('oarfish', args, { cwd: folder })
    expect(code).not.toBe(0)
    const logs = readdirSync(join(folder, 'logs')).map((name) => readFileSync(join(folder, 'logs', name), 'utf8'))
    expect(logs.some((log) => log.includes('PADDLE_TRAINING_ROLE should be one of [TRAINER, PSERVER]'))).toBe(true)
    expect(logs.join('')).toContain('start each process by hand as README.md says')
    expect(`${out}${err}`).toContain('PADDLE_TRAINING_ROLE')
  })
})

test('the program of docs/guide/fluid.md runs', async () => {
  const [, text] = /```ts\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/guide/fluid.md'), 'utf8'))!
  writeFileSync(join(folder, 'line.ts'), text!)
  const program = exec('line.ts', [], folder)
  expect(await program.ended, program.err).toBe(0)
  expect(Number(program.out)).toBeGreaterThan(0)
})
