/** @file docs/guide/writing-models.md: its model is written to a folder as it stands there, and its commands are run on it. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const page = readFileSync(at('docs/guide/writing-models.md'), 'utf8')
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(([, language, code]) => ({
  language,
  code: code!,
}))
const codeOf = (language: string) => blocks.find((block) => block.language === language)!.code

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-writing-'))
  await writeFile(join(folder, 'model.ts'), codeOf('ts'))
  await writeFile(join(folder, 'config.yaml'), codeOf('yaml'))
  await mkdir(join(folder, 'data'))
  const lines = Array.from({ length: 2000 }, (_, i) => {
    const age = (i % 9) / 10
    return `click:${age > 0.4 ? 1 : 0} user:${i % 20} item:${(i * 7) % 30} age:${age}`
  })
  await writeFile(join(folder, 'data', 'part-0'), `${lines.join('\n')}\n`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('the commands work on the model as they stand', async () => {
  const env = { ...process.env, PATH: `${at('bin/path')}${delimiter}${process.env['PATH']}` }
  const options = { cwd: folder, env, timeout: 200_000 }
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', codeOf('sh')], options)
  expect(stdout).toContain('config.yaml is valid.')
  const done = [...stdout.matchAll(/infer epoch: 2 done, .*/g)].map(([line]) => line)
  expect(done).toHaveLength(2) // in both modes
  const [first, second] = done.map((line) => ['loss', 'auc', 'norm'].map((name) => measured(line, name)))
  for (const [i, value] of first!.entries()) expect(second![i]).toBeCloseTo(value, 4)
  expect(first![1]).toBeGreaterThan(0.9)
})

const measured = (line: string, name: string) => Number(new RegExp(`\\b${name}: ([\\d.]+)`).exec(line)![1])

test('the mistake that it shows is answered as it says', async () => {
  const other = await mkdtemp(join(folder, 'mistake-'))
  await writeFile(join(other, 'model.ts'), codeOf('ts').replace('net({ click, user,', 'net({ click, usr,'))
  await writeFile(join(other, 'config.yaml'), codeOf('yaml').replaceAll('"data"', '"../data"'))
  const { code, err } = await oarfish(['check', '-m', 'config.yaml'], other)
  expect(code).toBe(2)
  expect(blocks.map((block) => block.code.trim())).toContain(err.trim())
})
