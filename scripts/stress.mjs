/**
 * @file `npm run test:stress [-- --times 3 --cpu 2 --minutes 60 --restart] [FILES]`: the tests that start processes, several times in a row,
 * with stress-ng beside them. Goes on where it was stopped. Ends with a table of files and runs, with 1 when any test failed, with 3 when files are left.
 */
import { execFileSync, spawn } from 'node:child_process'
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { installed } from './apt.mjs'
import { at, install, root } from './setup.mjs'
import { forgetRuns, knownRuns } from './stress-state.mjs'

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
  process.env.OARFISH_SET = 'chaos' // these are the worst
  const times = Number(values.times)
  const files = listFiles(positionals.length > 0 ? positionals : SUITES)
  if (files.length === 0) {
    console.error(`npm run test:stress: no test file's path has ${positionals.join(' or ')} in it.`)
    return 2
  }
  if (values.restart) forgetRuns()
  const stress = spawn('stress-ng', ['--quiet', '--cpu', values.cpu], { stdio: 'ignore' })
  process.on('exit', () => stress.kill())
  const until = performance.now() + Number(values.minutes) * 60_000
  for (let time = 1; time <= times && performance.now() < until; time++) {
    const runs = knownRuns()
    const left = files.filter((file) => (runs[file]?.length ?? 0) < time)
    console.log(`> run ${time}: ${left.length} of ${files.length} files, beside stress-ng --cpu ${values.cpu}`)
    if (left.length > 0) await runFiles(left, until)
  }
  stress.kill()
  return print(files, knownRuns(), times)
}

/** Test files by path in the repository. */
function listFiles(parts) {
  const args = [VITEST, 'list', ...parts, '--filesOnly', '--json']
  const listed = JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }))
  return [...new Set(listed.map(({ file }) => relative(root, file)))].sort()
}

/** Ends them, and what they started, when the minutes are over: what had ended is noted. */
function runFiles(files, until) {
  const reporters = ['--reporter=default', `--reporter=${at('scripts', 'stress-reporter.mjs')}`]
  const tests = spawn(process.execPath, [VITEST, 'run', ...reporters, ...files], { cwd: root, stdio: 'inherit' })
  const left = until - performance.now()
  const limit = Number.isFinite(left) ? setTimeout(() => tests.kill('SIGINT'), left) : undefined
  return new Promise((resolve) => {
    tests.on('exit', () => {
      clearTimeout(limit)
      resolve()
    })
  })
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
