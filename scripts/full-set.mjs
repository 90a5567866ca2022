/**
 * @file `npm run zoo`, `npm run chaos`: the tests of test/full-sets.json, which take minutes and are not part of `npm test`.
 * zoo trains on whole data sets (OARFISH_DATA names their folder); chaos has bad networks, hosts that come late and processes that are killed at the worst moments.
 */
import { existsSync, readFileSync } from 'node:fs'
import { at, install, node } from './setup.mjs'

const [name, ...words] = process.argv.slice(2)
const files = JSON.parse(readFileSync(at('test', 'full-sets.json'), 'utf8'))[name]
const data = at('..', 'shared', 'data')
if (existsSync(data)) process.env.OARFISH_DATA ??= data
process.env.OARFISH_SET = name
const vitest = at('node_modules', 'vitest', 'vitest.mjs') // builds
process.exit((await install()) ? await node(vitest, ['run', ...files, ...words]) : 1)
