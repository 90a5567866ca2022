/** @file Every error code a user can meet has a section in docs/reference/errors.md, and every section a code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => readFileSync(join(root, 'src', file), 'utf8'))
  .join('\n')
const sections = [...readFileSync(join(root, 'docs/reference/errors.md'), 'utf8').matchAll(/^### (\w+)$/gm)].map(
  ([, code]) => code!,
)

test('every error code has a section in docs/reference/errors.md', () => {
  const codes = new Set([...sources.matchAll(/\b(?:code: |errorsOf\()'([^']+)'/g)].map(([, code]) => code!))
  expect([...codes].filter((code) => !sections.includes(code)).sort()).toEqual([])
})

test('every section is about a code that exists', () => {
  expect(sections.filter((code) => !sources.includes(`'${code}'`))).toEqual([])
})
