/**
 * @file `npm run zoo`, and the end of `npm run chaos`: the tests of test/full-sets.json, which take minutes and are not part of `npm test`.
 * `npm run zoo -- --report` runs bench/zoo/report.ts instead: every model beside its PyTorch twin, for a night; `--smoke` in minutes.
 * zoo trains on whole data sets (OARFISH_DATA names their folder); chaos has bad networks, hosts that come late and processes that are killed at the worst moments.
 */
import { existsSync, readFileSync } from 'node:fs'
import { at, install, node } from './setup.mjs'

const [name, ...words] = process.argv.slice(2)
const files = JSON.parse(readFileSync(at('test', 'full-sets.json'), 'utf8'))[name]
const data = at('..', 'shared', 'data')
if (existsSync(data)) process.env.OARFISH_DATA ??= data
process.env.OARFISH_SET = name
if (words.includes('--report')) {
  const ready = (await install()) && (await node(at('scripts', 'build.mjs'))) === 0
  process.exit(ready ? await node(at('bench', 'zoo', 'main.mjs'), words) : 1)
}
const vitest = at('node_modules', 'vitest', 'vitest.mjs') // builds
process.exit((await install()) ? await node(vitest, ['run', ...files, ...words]) : 1)
