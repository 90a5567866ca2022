/** @file The READMEs: both say the same in code, and what they show works. */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { oarfish, writeSlotText } from './oarfish.testing.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const english = read('README.md')
const chinese = read('README.zh-CN.md')

test('the Chinese README has the code blocks of the English one', () => {
  expect(blocks(chinese)).toEqual(blocks(english))
  expect(blocks(english).length).toBeGreaterThan(5)
})

test('the Chinese README has the headings and tables of the English one', () => {
  const shape = (text: string) => [text.match(/^## /gm)?.length, text.match(/^\|/gm)?.length]
  expect(shape(chinese)).toEqual(shape(english))
})

test('the Chinese pages speak to their reader as 你, and the benchmark table has the same numbers in Chinese words', () => {
  const pages = [chinese, read('docs/guide/tutorial.zh-CN.md'), read('docs/guide/migration.zh-CN.md')]
  expect(pages.filter((page) => page.includes('您'))).toEqual([])
  const table = (page: string) => /<!-- bench:begin -->([\s\S]*)<!-- bench:end -->/.exec(page)![1]!
  const numbers = (page: string) => table(page).match(/\d+([,.]\d+)*/g)
  expect(numbers(chinese)).toEqual(numbers(english))
  expect(table(chinese)).not.toMatch(/median|spread|limit|threads|memory/)
})

test("the README's own model is valid, trains and learns", { timeout: 400_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-readme-'))
  try {
    await writeFile(join(folder, 'config.yaml'), codeOf('yaml'))
    await writeFile(join(folder, 'model.ts'), codeOf('ts'))
    await writeSlotText(join(folder, 'data/train'), 4000)
    await writeSlotText(join(folder, 'data/test'), 400)
    const arguments_ = ['-m', 'config.yaml', '-o', 'runner.epochs=20', 'runner.train_batch_size=20', '--json']
    expect(await oarfish(['check', ...arguments_], folder)).toMatchObject({ code: 0, err: '' })
    const { code, out, err } = await oarfish(['train', ...arguments_], folder)
    expect([code, err]).toEqual([0, ''])
    const done = JSON.parse(out.trim().split('\n').at(-1)!)
    expect(done).toMatchObject({ kind: 'done', samples: 80_000 })
    expect(done.evaluation.auc).toBeGreaterThan(0.9)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

function codeOf(language: string): string {
  const block = blocks(english).find((text) => text.startsWith(`\`\`\`${language}\n`))
  return block!.split('\n').slice(1, -1).join('\n')
}

function blocks(markdown: string): string[] {
  return [...markdown.matchAll(/^```[\s\S]*?^```/gm)].map(([block]) => block)
}
