/**
 * @file `npm run test:stress [-- --times 3 --cpu 2 --minutes 60 --restart] [FILES]`: the tests that start processes, each file several times in a row,
 * with stress-ng beside them. Goes on where it was stopped. Ends with a table of files and runs, with 1 when any test failed, with 3 when files are left.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { installed } from './apt.mjs'
import { at, install, node, root } from './setup.mjs'

/** Whatever has processes, sockets or timers; vitest takes them as parts of paths. */
const SUITES = [
  ...['cluster', 'collective', 'fleet', 'fluid', 'kube', 'netns', 'ps', 'serve', 'submit', 'train', 'trainer'].map(
    (folder) => `test/${folder}/`,
  ),
  ...[
    'test/cli.test.ts',
    'test/tutorial.test.ts',
    'src/data/pipes',
    'src/data/reader',
    'src/jobs/kube/pod/',
    'src/base/net/',
  ],
  ...['src/jobs/ssh/', 'src/jobs/submit/', 'src/training/', 'src/jobs/launch/', 'src/jobs/server/', 'src/jobs/agent/'],
]

/** So many files are run together before the next: as many as keep two cores busy to the end, few enough that a stop loses little. */
const TOGETHER = 8

const STATE = at('.cache', 'stress.json')
const VITEST = at('node_modules', 'vitest', 'vitest.mjs')
const LEFT = 3

const { values, positionals } = parseArgs({
  options: {
    times: { type: 'string', default: '3' },
    cpu: { type: 'string', default: '2' },
    minutes: { type: 'string', default: 'Infinity' },
    restart: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
process.exitCode = await main()

async function main() {
  if (!(await install())) return 1
  const missing = installed({ 'stress-ng': 'stress-ng' })
  if (missing.length > 0) {
    console.error('npm run test:stress needs stress-ng (Debian: apt-get install stress-ng).')
    return 2
  }
  mkdirSync(at('.cache'), { recursive: true })
  process.env.OARFISH_SET = 'chaos' // these are the worst
  const times = Number(values.times)
  const files = listFiles(positionals.length > 0 ? positionals : SUITES)
  const runs = values.restart ? {} : readState()
  const isDone = (file) => (runs[file]?.length ?? 0) >= times
  const stress = spawn('stress-ng', ['--quiet', '--cpu', values.cpu], { stdio: 'ignore' })
  process.on('exit', () => stress.kill())
  const until = performance.now() + Number(values.minutes) * 60_000
  for (
    let left = files.filter((file) => !isDone(file));
    left.length > 0;
    left = files.filter((file) => !isDone(file))
  ) {
    if (performance.now() > until) break
    console.log(`> ${left.length} of ${files.length} files are left, beside stress-ng --cpu ${values.cpu}`)
    await runFiles(left.slice(0, TOGETHER), runs)
  }
  stress.kill()
  return print(files, runs, times)
}

const headCommit = () => execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()

/** Test files by path in the repository. */
function listFiles(parts) {
  const args = [VITEST, 'list', ...parts, '--filesOnly', '--json']
  const listed = JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }))
  return [...new Set(listed.map(({ file }) => relative(root, file)))].sort()
}

/** Adds a run of each: seconds, commit, and the names of tests that failed. */
async function runFiles(files, runs) {
  const report = at('.cache', 'stress-report.json')
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const commit = headCommit()
  await node(VITEST, ['run', ...reporters, ...files])
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  for (const { name, startTime, endTime, status, assertionResults } of testResults) {
    const seconds = Math.round((endTime - startTime) / 1000)
    const names = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName)
    const run = { seconds, commit, failed: status !== 'passed', names }
    const file = relative(root, name)
    runs[file] = [...(runs[file] ?? []), run]
  }
  writeFileSync(`${STATE}.new`, JSON.stringify(runs))
  renameSync(`${STATE}.new`, STATE)
}

/** A file that failed at another commit begins anew: it is expected to be mended. */
function readState() {
  try {
    const known = Object.entries(JSON.parse(readFileSync(STATE, 'utf8')))
    const isMended = (runs) => runs.some(({ failed, commit }) => failed && commit !== headCommit())
    return Object.fromEntries(known.filter(([, runs]) => !isMended(runs)))
  } catch {
    return {} // nothing was run yet
  }
}

function print(files, runs, times) {
  const cell = (run) => (run === undefined ? '-' : `${run.failed ? 'FAILED' : 'ok'} ${run.seconds} s (${run.commit})`)
  const numbers = Array.from({ length: times }, (_, i) => i)
  console.log(`\n| file | ${numbers.map((i) => `run ${i + 1}`).join(' | ')} |\n|${' --- |'.repeat(times + 1)}`)
  for (const file of files) console.log(`| ${file} | ${numbers.map((i) => cell(runs[file]?.[i])).join(' | ')} |`)
  const all = files.flatMap((file) => (runs[file] ?? []).map((run, i) => ({ ...run, number: i + 1 })))
  for (const { number, names } of all) for (const name of names) console.log(`x run ${number}: ${name}`)
  const failures = all.filter((run) => run.failed).length
  const left = files.filter((file) => (runs[file]?.length ?? 0) < times).length
  console.log(`${files.length} files, ${all.length} runs, ${failures} failures, ${left} files left`)
  return failures > 0 ? 1 : left > 0 ? LEFT : 0
}
