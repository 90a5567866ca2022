/** @file `npm run bench`: builds, then runs bench/run.ts, or with `--compare REF` bench/compare.ts. */
import { at, install, node, root, step } from './setup.mjs'

const ready = (await install()) && (await step('build', async () => (await node(at('scripts', 'build.mjs'))) === 0))
if (!ready) process.exit(1)
const { createJiti } = await import('jiti')
// Only the benchmark's own files are compiled on the fly; what is measured is dist/, found under the name `oarfish`.
const alias = Object.fromEntries(
  ['nn', 'fleet', 'fluid', 'trainer'].map((name) => [`oarfish/${name}`, at('dist', `${name}.js`)]),
)
const jiti = createJiti(root, { alias: { ...alias, oarfish: at('dist', 'index.js') }, fsCache: at('.cache', 'jiti') })
const compares = process.argv.some((word) => /^--compare(=|$)/.test(word))
await jiti.import(at('bench', compares ? 'compare.ts' : 'run.ts'))
