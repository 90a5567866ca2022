/**
 * @file `npm run e2e:hdfs`: starts a real HDFS (Hadoop's mini cluster, fetched by Maven) and runs test/hdfs against it. `-- --record` writes its
 * answers down for machines without one.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at, install, node, step } from './setup.mjs'

const lib = at('.cache', 'hdfs')
const START_MS = 120_000

for (const [tool, what] of [
  ['java', 'a Java runtime (Debian: default-jre-headless)'],
  ['mvn', 'Maven (Debian: maven)'],
]) {
  if (spawnSync(tool, ['-version']).error) {
    console.error(`npm run e2e:hdfs needs ${what}: ${tool} was not found.`)
    process.exit(2)
  }
}

const ready =
  (await install()) && (await step('fetch Hadoop', async () => existsSync(join(lib, 'done')) || fetchHadoop()))
if (!ready) process.exit(1)

const folder = mkdtempSync(join(tmpdir(), 'hdfs-'))
const hdfs = spawn(
  'java',
  [
    '-Xmx512m',
    '--add-opens=java.base/java.lang=ALL-UNNAMED',
    '-cp',
    `${lib}/*`,
    at('scripts', 'hdfs', 'MiniHdfs.java'),
    folder,
  ],
  {
    stdio: ['pipe', 'pipe', 'inherit'],
  },
)
const url = await new Promise((done, fail) => {
  const timer = setTimeout(() => fail(new Error('HDFS did not start')), START_MS)
  hdfs.stdout.on('data', (text) => {
    const found = /hdfs:\/\/\S+/.exec(String(text))
    if (found) done(found[0])
  })
  hdfs.once('exit', (code) => fail(new Error(`HDFS ended with exit code ${code}`)))
  hdfs.once('exit', () => clearTimeout(timer))
}).finally(() => undefined)
console.log(`HDFS at ${url}`)
process.env.OARFISH_HDFS = url
process.env.OARFISH_HDFS_LIB = lib // for tests that need an HDFS in a network of their own
if (process.argv.includes('--record')) process.env.OARFISH_HDFS_RECORD = '1'
const code = await node(at('node_modules', 'vitest', 'vitest.mjs'), ['run', 'test/hdfs'])
const ended = new Promise((done) => hdfs.once('exit', done))
hdfs.stdin.end()
await Promise.race([ended, new Promise((done) => setTimeout(done, 20_000))])
hdfs.kill('SIGKILL')
rmSync(folder, { recursive: true, force: true })
process.exit(code)

function fetchHadoop() {
  rmSync(lib, { recursive: true, force: true })
  const { status } = spawnSync(
    'mvn',
    ['-q', '-B', '-f', at('scripts', 'hdfs', 'pom.xml'), 'dependency:copy-dependencies', `-DoutputDirectory=${lib}`],
    { stdio: 'inherit' },
  )
  if (status === 0) spawnSync('touch', [join(lib, 'done')])
  return status === 0
}
