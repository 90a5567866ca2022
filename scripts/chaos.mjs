/**
 * @file `npm run chaos [-- --runs 200 --seed 1 --only sync,kill --minutes 10 --restart --no-tests]`: jobs of real processes that are killed, stopped, cut off and left without room at
 * moments drawn from the seed, each checked for every sample once (test/chaos/main.ts); then the tests of test/full-sets.json that go with them.
 * `--case N` repeats one run; `--elastic`: jobs from which workers leave and which others join, cases of their own. `--endurance [--minutes 20 --every 10]`: one job,
 * killed over and over (test/chaos/endurance.ts). Goes on where it was stopped. `--online [--every 10 --from 3]`: online training, killed at its calls to the file system (test/chaos/online-sweep.ts).
 */
import { runSource } from './run-source.mjs'
import { at, install, node } from './setup.mjs'

const words = process.argv.slice(2)
const other = ['online', 'endurance'].find((name) => words.includes(`--${name}`))
const runsTests = !other && !words.includes('--no-tests') && !words.some((word) => word.startsWith('--case'))
const own = words.filter((word) => word !== '--no-tests')

if (!(await install()) || (await node(at('scripts', 'build.mjs'))) !== 0) process.exit(1)
const entry = { online: 'online-sweep', endurance: 'endurance' }[other] ?? 'main'
const code = await runSource(`test/chaos/${entry}.ts`, [...own, '--cache', at('.cache')])
const tests = code !== 2 && runsTests ? await node(at('scripts', 'full-set.mjs'), ['chaos']) : 0
process.exitCode = code || tests
