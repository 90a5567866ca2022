/** @file CONTRIBUTING.md is true: its files and commands exist, and its patches apply. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const at = (...path: string[]) => join(ROOT, ...path)
const page = readFileSync(at('CONTRIBUTING.md'), 'utf8')
const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { scripts: Record<string, string> }
const patches = [...page.matchAll(/^```diff\n([\s\S]*?)^```/gm)].map(([, patch]) => patch!)
/** Of worked examples: they are not there before. */
const MADE_BY_EXAMPLES = ['models/rank/mine', 'src/jobs/executors/pair.ts', 'test/fixtures/tsv-reader.ts']

test('every file and folder that it names exists', () => {
  const prose = page.replaceAll(/^```diff\n[\s\S]*?^```/gm, '')
  const named = [...prose.matchAll(/(?<![\w./-])(?:src|test|scripts|models|bin|docs|\.githooks)\/[\w./-]*\w/g)].map(
    ([path]) => path,
  )
  expect(named.length).toBeGreaterThan(25)
  const missing = named.filter(
    (path) => !existsSync(at(path)) && !MADE_BY_EXAMPLES.some((made) => path.startsWith(made)),
  )
  expect(missing).toEqual([])
})

test('every npm script that it names exists, and every script of package.json that a newcomer may need is named', () => {
  const named = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  expect(named).toEqual(expect.arrayContaining(['fast', 'hooks', 'types', 'lint', 'test:nodes', 'bench']))
})

test.each(patches.map((patch) => [/^\+\+\+ b\/(\S+)/m.exec(patch)![1]!, patch]))(
  'the patch that begins with %s applies',
  (_, patch) => {
    // Line numbers may be old; the lines around a change must be there.
    execFileSync('git', ['apply', '--check', '--unidiff-zero', '-'], { cwd: ROOT, input: patch })
  },
)

test('the slow tests that are left out of the fast set exist', () => {
  const { include, slow } = JSON.parse(readFileSync(at('test/fast-set.json'), 'utf8')) as Record<string, string[]>
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(at(folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  for (const pattern of [...include!, ...slow!]) {
    const expression = new RegExp(
      `^${pattern
        .replaceAll('.', '\\.')
        .replaceAll('**/', '#')
        .replaceAll('*', '[^/]*')
        .replaceAll('#', '(.*/)?')
        .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(${names.replaceAll(',', '|')})`)}$`,
    )
    expect(
      files.some((file) => expression.test(file)),
      pattern,
    ).toBe(true)
  }
})
