/** @file The READMEs: both say the same in code, and what they show works. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

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
  for (const name of ['README.md', 'README.zh-CN.md', 'docs/architecture.md']) {
    for (const [, target] of read(name).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect(() => read(join(name, '..', target!)), `${name} links to ${target}`).not.toThrow()
    }
  }
})

test('the table of folders in the README names every folder of the import table', () => {
  const inArchitecture = [...read('docs/architecture.md').matchAll(/^\| \d \| `(\w+)\/`/gm)].map(([, name]) => name)
  const table = /\| folder \|[\s\S]*?\n\n/.exec(english)?.[0] ?? ''
  const inReadme = [...table.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(inReadme.sort()).toEqual(inArchitecture.sort())
})

function blocks(markdown: string): string[] {
  return [...markdown.matchAll(/^```[\s\S]*?^```/gm)].map(([block]) => block)
}
