/**
 * @file `npm run fast`: format of the changed files, types, and the tests of test/fast-set.json; stops at the first of them that fails.
 * Words after `--` choose test files (`npm run fast -- src/weights`). `--staged`, for the pre-commit hook, looks at what will be committed.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { at, install, node, root, step } from './setup.mjs'

const { values, positionals } = parseArgs({
  options: { staged: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const changed = changedFiles(values.staged)
// Of the commit under way: tests have repositories of their own.
for (const name of Object.keys(process.env).filter((key) => key.startsWith('GIT_'))) delete process.env[name]
process.env.OARFISH_SET = 'fast'

const INFO = '.cache/types.tsbuildinfo'
const STEPS = [
  ['format', format],
  ['types', () => tool('typescript/bin/tsc', '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', INFO)],
  ['fast tests', () => tool('vitest/vitest.mjs', 'run', '--silent=passed-only', '--passWithNoTests', ...positionals)],
]

const HINTS = {
  format: 'npm run format mends what it can',
  'fast tests': 'npx vitest run FILE -t NAME runs one of them',
}

process.exitCode = await main()

async function main() {
  mkdirSync(at('.cache'), { recursive: true })
  const begin = performance.now()
  if (!(await install())) return 1
  for (const [title, work] of STEPS) {
    if (await step(title, work)) continue
    if (HINTS[title]) console.log(`  ${HINTS[title]}`)
    if (values.staged) console.log('  Nothing was committed; git commit --no-verify commits all the same.')
    return 1
  }
  console.log(`+ fast: ok in ${((performance.now() - begin) / 1000).toFixed(1)} s; npm test runs everything`)
  return 0
}

async function format() {
  if (changed.length === 0) return true
  const flags = ['--error-on-warnings', '--no-errors-on-unmatched', '--files-ignore-unknown=true']
  return await tool('@biomejs/biome/bin/biome', 'check', ...flags, ...changed)
}

async function tool(path, ...args) {
  return (await node(at('node_modules', path), args)) === 0
}

/** Since the last commit, new files too; staged ones alone for the hook. */
function changedFiles(staged) {
  const git = (...args) => execFileSync('git', [...args, '-z'], { cwd: root, encoding: 'utf8' }).split('\0')
  const names = staged
    ? git('diff', '--cached', '--name-only', '--diff-filter=d')
    : [...git('diff', 'HEAD', '--name-only', '--diff-filter=d'), ...git('ls-files', '--others', '--exclude-standard')]
  return names.filter((name) => name !== '' && existsSync(at(name)))
}
