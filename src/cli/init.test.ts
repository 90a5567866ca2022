/** @file `oarfish init`, `model summary` and `--quiet`: what init writes trains at once, learns, and is what its editor expects. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { capture } from './capture.testing.ts'

let folder: string
const project = () => join(folder, 'My Clicks')
const config = () => join(project(), 'config.yaml')
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-init-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('writes a project, and says what to type', async () => {
  const { code, out } = await capture(['init', project()])
  expect(code).toBe(0)
  expect(out).toContain('oarfish train -m config.yaml')
  expect(readdirSync(project()).sort()).toEqual(
    '.gitignore .npmrc config.schema.json config.yaml data model.ts package.json reader.ts tsconfig.json'.split(' '),
  )
  expect(JSON.parse(readFileSync(join(project(), 'package.json'), 'utf8'))).toMatchObject({ name: 'my-clicks' })
  expect(readFileSync(config(), 'utf8')).toMatch(/^# yaml-language-server: \$schema=\.\/config\.schema\.json\n/)
})

test('never replaces a file; what npm init wrote stays', async () => {
  const { code, err } = await capture(['init', project()])
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/already config\.yaml, model\.ts.*nothing was written[\s\S]*init NAME/),
  ])
  const own = join(folder, 'own')
  await capture(['init', own])
  for (const name of ['config.yaml', 'model.ts', 'reader.ts', 'config.schema.json', 'data'])
    rmSync(join(own, name), { recursive: true })
  writeFileSync(join(own, 'package.json'), '{"name":"kept"}')
  expect((await capture(['init', own])).out).toContain(
    '(package.json, .npmrc, .gitignore, tsconfig.json stayed as they were)',
  )
  expect(readFileSync(join(own, 'package.json'), 'utf8')).toBe('{"name":"kept"}')
})

test('one file that stays, as after npm init, is one', async () => {
  const own = join(folder, 'after-npm-init')
  mkdirSync(own)
  writeFileSync(join(own, 'package.json'), '{"name":"kept"}')
  expect((await capture(['init', own])).out).toContain('(package.json stayed as it was)')
})

test('what it writes is valid, trains, and its test AUC rises', async () => {
  expect(await capture(['check', '-m', config()])).toMatchObject({ code: 0, err: '' })
  const { code, out } = await capture(['train', '-m', config(), '-o', 'runner.model_save_path=', '--json'])
  expect(code).toBe(0)
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const aucs = events
    .filter(({ kind, phase }) => kind === 'epoch' && phase === 'infer')
    .map(({ metrics }) => metrics.auc)
  expect(aucs).toHaveLength(3)
  expect(aucs[1]).toBeGreaterThan(aucs[0])
  expect(aucs[2]).toBeGreaterThan(aucs[1])
  expect(aucs[2]).toBeGreaterThan(0.7)
})

test('--quiet prints nothing where nothing is wrong, and what is wrong', async () => {
  expect(await capture(['check', '-m', config(), '--quiet'])).toEqual({ code: 0, out: '', err: '' })
  const { code, out, err } = await capture(['check', '-m', config(), '-o', 'runner.epochs=none', '--quiet'])
  expect([code, out, err]).toEqual([2, '', expect.stringContaining('runner.epochs')])
})

test('model summary counts by hand', async () => {
  const { out } = await capture(['model', 'summary', '-m', config(), '--json'])
  const { tables, layers, parameters, denseBytes, flop } = JSON.parse(out)
  expect(tables).toEqual([
    { name: 'embedding', dim: 8, slots: ['age', 'genre', 'item', 'hour'], bytesPerRow: 4 * 8 * 3 + 16 },
  ])
  expect(layers.map(({ name, values, output }: Record<string, unknown>) => [name, values, output])).toEqual([
    ['fc.0', 33 * 32 + 32, ['B', 32]],
    ['fc.1', 32 + 1, ['B', 1]],
  ])
  expect([parameters, denseBytes]).toEqual([33 * 32 + 32 + 33, 12 * (33 * 32 + 32 + 33)])
  expect(flop.infer).toBeGreaterThan(2 * (33 * 32 + 32))
  expect(flop.infer).toBeLessThan(1.2 * 2 * (33 * 32 + 32))
  expect(flop.train).toBeGreaterThan(2.5 * flop.infer)
  const text = (await capture(['model', 'summary', '-m', config()])).out
  expect(text).toMatch(/fc\.0 +weight \[33, 32\], bias \[32\] +\[B, 32\] +1,088\n/)
  expect(text).toMatch(/FLOP a sample: [\d,]+ to score, [\d,]+ to train\./)
})

test.each([
  ['learning_rate=log:1e-4..1e-2', 'hyper_parameters.learning_rate=log:1e-4..1e-2'],
  ['lr=0.1,0.2', 'hyper_parameters.learning_rate=0.1,0.2'],
  ['optimizer.learning_rate=0.1..0.2', 'hyper_parameters.learning_rate=0.1..0.2'],
  ['hyper_parameters.optimizer.learning_rate=0.1..0.2', 'hyper_parameters.learning_rate=0.1..0.2'],
  ['embedding_dim=int:4..16', 'hyper_parameters.embedding_dim=int:4..16'],
  ['epochs=1,2', 'runner.epochs=1,2'],
])('sweep --set %s proposes the key that this project has', async (typed, meant) => {
  const out = join(folder, 'sweep')
  const { code, err } = await capture(['sweep', '-m', config(), '--set', typed, '--runs', '1', '--out', out])
  expect(code).toBe(2)
  expect(err).toContain(`--set ${typed}: unknown key - did you mean "${meant.slice(0, meant.indexOf('='))}"?`)
  expect(err).toContain(`write --set ${meant}`)
})

test.each(['--runs', '--parallel'])('sweep %s 0 is refused', async (option) => {
  const { code, err } = await capture([
    'sweep',
    '-m',
    config(),
    '--set',
    'hyper_parameters.learning_rate=0.1,0.2',
    option,
    '0',
  ])
  expect(code).toBe(2)
  expect(err).toContain('Expected 1 or more.')
})

test('-o proposes the key that this project has, also for a group it does not have', async () => {
  const hint = async (typed: string) => (await capture(['train', '-m', config(), '--no-run-dir', '-o', typed])).err
  expect(await hint('learning_rate=0.01')).toContain('fix: write -o hyper_parameters.learning_rate=0.01')
  expect(await hint('optimizer.learning_rate=0.01')).toContain('fix: write -o hyper_parameters.learning_rate=0.01')
  expect(await hint('hyper_parameters.optimizer.learning_rate=0.01')).toContain(
    'fix: write -o hyper_parameters.learning_rate=0.01',
  )
  expect(await hint('hyper_parameters.dropout=0.5')).toContain(
    'unknown key; known are learning_rate, embedding_dim, layers',
  )
  expect(await hint('optimizer.class=adam')).toContain('fix: write -o hyper_parameters.optimizer.class=adam')
})
