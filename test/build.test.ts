/** @file `npm run build`, which vitest runs before all tests: what is built is left alone, also by two at once. */
import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const build = () => promisify(execFile)(process.execPath, [at('scripts/build.mjs')])

test('a build of what is built writes nothing', async () => {
  const times = () => ['dist/.built.json', 'dist/index.js', 'dist/index.d.ts'].map((path) => statSync(at(path)).mtimeMs)
  const before = times()
  const said = await Promise.all([build(), build()])
  expect(said.map(({ stdout, stderr }) => stdout + stderr)).toEqual(['', ''])
  expect(times()).toEqual(before)
})

test('every part of dist/ is marked by the text that it was built from', () => {
  const built = JSON.parse(readFileSync(at('dist/.built.json'), 'utf8'))
  expect(Object.keys(built).sort()).toEqual(['kernels', 'page', 'scripts', 'types'])
})
