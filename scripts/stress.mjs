/**
 * @file `npm run test:stress [-- --times 3 --cpu 2] [FILES]`: the tests that start processes, several times, with stress-ng beside them.
 * Ends with a table of files and runs, and with 1 when any test failed.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
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

const { values, positionals } = parseArgs({
  options: { times: { type: 'string', default: '3' }, cpu: { type: 'string', default: '2' } },
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
  const stress = spawn('stress-ng', ['--quiet', '--cpu', values.cpu], { stdio: 'ignore' })
  process.on('exit', () => stress.kill())
  const runs = []
  for (let run = 1; run <= Number(values.times); run++) {
    console.log(`> run ${run} of ${values.times}, beside stress-ng --cpu ${values.cpu}`)
    runs.push(await runTests(run))
  }
  stress.kill()
  return print(runs)
}

/** By file: seconds, and the names of tests that failed. */
async function runTests(run) {
  const report = at('.cache', `stress-${run}.json`)
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const files = positionals.length > 0 ? positionals : SUITES
  await node(at('node_modules', 'vitest', 'vitest.mjs'), ['run', ...reporters, ...files])
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  return new Map(
    testResults.map(({ name, startTime, endTime, status, assertionResults }) => [
      relative(root, name),
      {
        seconds: (endTime - startTime) / 1000,
        failed: status !== 'passed',
        names: assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName),
      },
    ]),
  )
}

function print(runs) {
  const cell = (found) =>
    found === undefined ? '-' : `${found.failed ? 'FAILED' : 'ok'} ${found.seconds.toFixed(0)} s`
  const files = [...new Set(runs.flatMap((run) => [...run.keys()]))].sort()
  console.log(`\n| file | ${runs.map((_, i) => `run ${i + 1}`).join(' | ')} |\n|${' --- |'.repeat(runs.length + 1)}`)
  for (const file of files) console.log(`| ${file} | ${runs.map((run) => cell(run.get(file))).join(' | ')} |`)
  const failed = runs.flatMap((run, i) => [...run.values()].flatMap(({ names }) => names.map((name) => [i + 1, name])))
  for (const [run, name] of failed) console.log(`x run ${run}: ${name}`)
  const count = runs.flatMap((run) => [...run.values()]).filter((found) => found.failed).length
  console.log(`${files.length} files, ${runs.length} runs, ${count} failures`)
  return count === 0 ? 0 : 1
}
