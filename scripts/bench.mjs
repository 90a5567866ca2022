/** @file `npm run bench`: builds, then runs bench/run.ts, which finds the built package under the name `oarfish`. */
import { at, install, node, root, step } from './setup.mjs'

const ready = (await install()) && (await step('build', async () => (await node(at('scripts', 'build.mjs'))) === 0))
if (!ready) process.exit(1)
const { createJiti } = await import('jiti')
// Only the benchmark's own files are compiled on the fly; what is measured is dist/.
const jiti = createJiti(root, { alias: { oarfish: at('dist', 'index.js') }, fsCache: at('.cache', 'jiti') })
await jiti.import(at('bench', 'run.ts'))
