/** @file docs/guide/tutorial.md: its commands are run in order, as they stand, in an empty folder with a fresh HOME; the Chinese page has the same ones. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { blocksOf as blocksIn, type FreshMachine, freshMachine, ROOT } from './first-hour.testing.ts'

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 })

const blocksOf = (name: string) => blocksIn(readFileSync(join(ROOT, 'docs/guide', name), 'utf8'))
const blocks = blocksOf('tutorial.md')
const codeOf = (language: string) => blocks.find((block) => block.language === language)!.code
/** The shell block with this text in it; the port is less likely to be taken. */
const shell = (part: string) => {
  const found = blocks.filter(({ language, code }) => language === 'sh' && code.includes(part))
  expect(found, part).toHaveLength(1)
  return found[0]!.code.replace('8080', '26380')
}

let machine: FreshMachine
let cwd: string
const sh = (script: string, folder: string) =>
  promisify(execFile)('sh', ['-e', '-c', script], { cwd: folder, env: machine.env, timeout: 300_000 })
const run = (part: string) => sh(shell(part), cwd)
const aucOf = (out: string) => Number(/done, loss: [\d.]+, auc: ([\d.]+)(?![\s\S]*done, loss)/.exec(out)?.[1])

beforeAll(async () => {
  machine = freshMachine('tutorial')
  const clone = join(machine.folder, 'oarfish')
  await mkdir(clone)
  await promisify(execFile)('npm', ['pack', '--pack-destination', clone], { cwd: ROOT })
  await sh(shell('npm install'), machine.folder)
  cwd = join(machine.folder, 'ctr')
  await writeFile(join(cwd, 'config.yaml'), codeOf('yaml'))
  await writeFile(join(cwd, 'model.ts'), codeOf('ts'))
})
afterAll(() => rm(machine.folder, { recursive: true, force: true }))

test('the Chinese page has the code blocks of the English one', () => {
  expect(blocksOf('tutorial.zh-CN.md')).toEqual(blocks)
})

test('data, check, train: the AUC of the text', async () => {
  expect((await run('data criteo-like')).stdout).toMatch(/no model beats: 0\.(79[5-9]|80[0-4])[\s\S]*click:/)
  expect((await run('oarfish check')).stdout).toContain('config.yaml is valid.')
  expect(aucOf((await run('train -m config.yaml\n')).stdout)).toBeCloseTo(0.708, 2)
  expect(aucOf((await run('thread_num=2')).stdout)).toBeCloseTo(0.708, 2)
})

test('the answer to a mistyped key', async () => {
  const mistyped = (await readFile(join(cwd, 'config.yaml'), 'utf8')).replace('train_batch_size', 'train_bath_size')
  const folder = await mkdtemp(join(cwd, 'mistyped-'))
  await writeFile(join(folder, 'config.yaml'), mistyped)
  await writeFile(join(folder, 'model.ts'), codeOf('ts'))
  await symlink(join(cwd, 'data'), join(folder, 'data'))
  const { code, stderr } = await sh('npx oarfish check -m config.yaml', folder).catch((error) => error)
  expect(code).toBe(2)
  expect(stderr.trim()).toBe(codeOf('').trim())
})

test('two workers and two servers, evaluated by one process; two ranks', async () => {
  await run('fleetrun --worker_num')
  expect(aucOf((await run('oarfish infer')).stdout)).toBeCloseTo(0.708, 1)
  expect(aucOf((await run('oarfish launch')).stdout)).toBeCloseTo(0.708, 2)
})

test('export, predict and serve', async () => {
  await run('oarfish export')
  expect((await readFile(join(cwd, 'scores.txt'), 'utf8')).trim().split('\n')).toHaveLength(10_000)
  const server = spawn('sh', ['-c', `exec ${shell('oarfish serve')}`], { cwd, env: machine.env, detached: true })
  try {
    await serving(server)
    const { scores } = JSON.parse((await run('curl')).stdout)
    expect(scores.length).toBeGreaterThan(0)
  } finally {
    process.kill(-server.pid!, 'SIGTERM') // npx and what it runs
  }
})

async function serving({ stdout, stderr }: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the server did not start within 2 minutes')), 120_000)
    stderr!.on('data', (text) => reject(new Error(String(text))))
    stdout!.on('data', (text) => {
      if (!String(text).includes('Serving')) return
      clearTimeout(late)
      resolve()
    })
  })
}
