/**
 * @file `npm test`: set-up, lint, types, build, tests, what they left behind, and size, from a fresh clone; ends with
 * `N passed, N failed, N skipped`.
 * A file or two that failed run once more, alone, and are named as unsteady where they pass then.
 * Words after `--` choose test files (`npm test -- src/weights/table`); `--require NAME,...` fails when one of these suites did not run whole.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { uncommitted } from './left-behind.mjs'
import { at, install, node, step } from './setup.mjs'

const REPORT = at('.cache', 'vitest.json')
const SECOND_REPORT = at('.cache', 'vitest-again.json')
const SUMMARY = at('.cache', 'summary.txt')
const { values, positionals } = parseArgs({
  options: { require: { type: 'string', default: '' } },
  allowPositionals: true,
})
const required = values.require.split(',').filter(Boolean)

const script = (path, args) => async () => (await node(at(path), args)) === 0
const STEPS = [
  ['lint', script('node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.'])],
  ['types', script('node_modules/typescript/bin/tsc', ['-p', 'tsconfig.json'])],
  ['build', script('scripts/build.mjs')],
  ['tests', tests],
  ['nothing left behind', nothingLeft],
  ['size', script('scripts/size.mjs')],
]

/** Files that may fail once. */
const FEW = 2

let before = new Set()
process.exitCode = await main()

async function main() {
  before = uncommitted()
  for (const report of [REPORT, SECOND_REPORT]) rmSync(report, { force: true })
  mkdirSync(at('.cache'), { recursive: true })
  const failed = (await install()) ? [] : ['install']
  if (failed.length === 0) {
    for (const [title, work] of STEPS) if (!(await step(title, work))) failed.push(title)
  }
  for (const title of failed) console.log(`x the step "${title}" failed: see above what it printed`)
  const counts = count(failed)
  writeFileSync(SUMMARY, `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
  process.stdout.write(readFileSync(SUMMARY, 'utf8'))
  return counts.failed === 0 ? 0 : 1
}

/** Some tests hold real clusters to their word, on a machine that they do not know: a failure that does not repeat is said, and no more. */
async function tests() {
  if (await runTests(positionals, REPORT)) return true
  const report = readReport(REPORT)
  const failed = report.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)
  if (failed.length === 0 || failed.length > FEW) return false
  console.log(`> once more, alone: ${failed.join(' ')}`)
  const passed = await runTests(failed, SECOND_REPORT)
  const others = report.testResults.filter(({ name }) => !failed.includes(name))
  writeFileSync(REPORT, JSON.stringify({ testResults: [...others, ...readReport(SECOND_REPORT).testResults] }))
  if (passed) for (const name of failed) console.log(`! unsteady: ${name} failed among all tests and passed alone`)
  return passed
}

async function runTests(files, report) {
  const words = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  return (await node(at('node_modules/vitest/vitest.mjs'), [...words, ...files])) === 0
}

/** Tests write to temporary folders: nothing new lies in the repository, and nothing was changed there. */
async function nothingLeft() {
  const left = [...uncommitted()].filter((path) => !before.has(path))
  for (const path of left.slice(0, 20)) console.log(`  ${path} was written by a test`)
  return left.length === 0
}

/** Every test is one check; so is every other step, and every required suite. */
function count(failedSteps) {
  const report = readReport(REPORT)
  const tests = report.testResults.flatMap((file) =>
    file.assertionResults.map((test) => ({ ...test, suite: [file.name, ...test.ancestorTitles].join(' > ') })),
  )
  const incomplete = required.filter((name) => !isWhole(name, tests))
  for (const name of incomplete)
    console.log(`x required suite "${name}" did not run whole: a missing or skipped test in it fails CI`)
  const withStatus = (...statuses) => tests.filter(({ status }) => statuses.includes(status)).length
  const steps = STEPS.length - 1
  const failures = failedSteps.filter((title) => title !== 'tests').length
  // A file that does not load has no failed test of its own, so the step itself is the failure.
  const unexplained = failedSteps.includes('tests') && withStatus('failed') === 0 ? 1 : 0
  return {
    passed: withStatus('passed') + steps - failures + required.length - incomplete.length,
    failed: withStatus('failed') + failures + unexplained + incomplete.length,
    skipped: withStatus('pending', 'skipped', 'todo', 'disabled'),
  }
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { testResults: [] } // vitest did not get as far as writing one
  }
}

/** A suite is a test file or a describe block with that name in it. */
function isWhole(name, tests) {
  const own = tests.filter(({ suite }) => suite.includes(name))
  return own.length > 0 && own.every(({ status }) => status === 'passed')
}
