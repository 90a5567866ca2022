/** @file `npm run e2e:kafka`: fetches a real Kafka by Maven and runs test/kafka, which starts and stops its broker. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { at, install, node, step } from './setup.mjs'

const lib = at('.cache', 'kafka')

for (const [tool, what] of [
  ['java', 'a Java runtime (Debian: default-jre-headless)'],
  ['mvn', 'Maven (Debian: maven)'],
]) {
  if (spawnSync(tool, ['-version']).error) {
    console.error(`npm run e2e:kafka needs ${what}: ${tool} was not found.`)
    process.exit(2)
  }
}

const ready =
  (await install()) &&
  (await node(at('scripts', 'build.mjs'))) === 0 &&
  (await step('fetch Kafka', async () => existsSync(join(lib, 'done')) || fetchKafka()))
if (!ready) process.exit(1)
process.env.OARFISH_KAFKA_LIB = lib
process.exit(await node(at('node_modules', 'vitest', 'vitest.mjs'), ['run', 'test/kafka', ...process.argv.slice(2)]))

function fetchKafka() {
  rmSync(lib, { recursive: true, force: true })
  const { status } = spawnSync(
    'mvn',
    ['-q', '-B', '-f', at('scripts', 'kafka', 'pom.xml'), 'dependency:copy-dependencies', `-DoutputDirectory=${lib}`],
    { stdio: 'inherit' },
  )
  if (status === 0) spawnSync('touch', [join(lib, 'done')])
  return status === 0
}
