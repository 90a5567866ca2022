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

test('every file that the READMEs and the documents link to exists', () => {
  for (const name of ['README.md', 'README.zh-CN.md', 'docs/architecture.md', 'docs/config.md', 'docs/errors.md']) {
    for (const [, target] of read(name).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect(() => read(join(name, '..', target!)), `${name} links to ${target}`).not.toThrow()
    }
  }
})

test('the table of folders in the README names every folder of the import table', () => {
  const inArchitecture = [...read('docs/architecture.md').matchAll(/^\| \d+ \| `(\w+)\/`/gm)].map(([, name]) => name)
  const table = /\| folder \|[\s\S]*?\n\n/.exec(english)?.[0] ?? ''
  const inReadme = [...table.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(inReadme.sort()).toEqual(inArchitecture.sort())
})

test("the README's own model is valid, trains and learns", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-readme-'))
  try {
    await writeFile(join(folder, 'config.yaml'), codeOf('yaml'))
    await writeFile(join(folder, 'static_model.ts'), codeOf('ts'))
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
