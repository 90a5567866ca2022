/** @file The README in a fresh clone, under a fresh HOME: its commands in order, as they stand. */
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, type FreshMachine, freshMachine, ROOT } from './first-hour.testing.ts'

const MINUTES = 15 * 60 * 1000
const blocks = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8')).filter(({ language }) => language === 'sh')

let machine: FreshMachine
let clone: string
beforeAll(() => {
  machine = freshMachine('first-hour')
  clone = join(machine.folder, 'oarfish')
  // What a clone of the next commit would have.
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const path of list.split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name))))
    cpSync(join(ROOT, path), join(clone, path))
})
afterAll(() => rmSync(machine.folder, { recursive: true, force: true }))

/** One shell for all blocks given: the next begins where the one before has gone. */
async function shell(script: string, cwd: string): Promise<string> {
  const options = { cwd, env: machine.env, timeout: MINUTES, maxBuffer: 64 << 20 }
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', script], options).catch((error) => {
    throw new Error(`${error.stdout}${error.stderr}`, { cause: error })
  })
  return stdout
}

test('the README begins with npm start and npm test, and these are the scripts', () => {
  expect(blocks[0]!.code).toBe('npm start\nnpm test\n')
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(scripts).toMatchObject({ start: 'node scripts/start.mjs', test: 'node scripts/test.mjs' })
})

test('npm start does all the set-up and shows that it learnt something', { timeout: MINUTES }, async () => {
  const out = await shell('npm start', clone)
  const aucs = [...out.matchAll(/^ {2}epoch \d {2}(0\.\d{4}) {2}#+$/gm)].map(([, auc]) => Number(auc))
  expect(aucs).toHaveLength(3)
  expect(aucs[1]).toBeGreaterThan(aucs[0]!)
  expect(aucs[2]).toBeGreaterThan(aucs[1]!)
  expect(aucs[2]).toBeGreaterThan(0.71)
  const [, ...said] = /\((0\.\d+), (0\.\d+), (0\.\d+), where chance/.exec(
    readFileSync(join(ROOT, 'README.md'), 'utf8'),
  )!
  for (const [i, number] of said.entries()) expect(Number(number)).toBeCloseTo(aucs[i]!, 2)
})

test('then the commands of a project of its own, in order', { timeout: MINUTES }, async () => {
  // npm test is what runs this; the last block is a list for developers.
  const [, ...rest] = blocks.slice(0, -1)
  const out = await shell(rest.map(({ code }) => code).join('\n'), clone)
  expect(out).toContain('Wrote config.yaml, model.ts, reader.ts')
  expect(out.match(/infer epoch: \d done/g)!.length).toBeGreaterThanOrEqual(4)
  expect(out).toContain('Wrote 400,000 training and 40,000 test rows to data/criteo')
  // Nothing but what npm and init wrote, and the two folders of training, which are kept out of git.
  const project = join(clone, '..', 'clicks')
  const made =
    'config.schema.json config.yaml data model.ts node_modules output package-lock.json package.json reader.ts runs'
  expect(readdirSync(project).sort()).toEqual(['.gitignore', '.npmrc', ...made.split(' '), 'tsconfig.json'])
  expect(readFileSync(join(project, '.gitignore'), 'utf8')).toBe('node_modules\noutput\nruns\n')
})
