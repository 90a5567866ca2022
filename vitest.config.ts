import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

/** Tests that take minutes have commands of their own: scripts/full-set.mjs. */
const sets = JSON.parse(readFileSync(new URL('./test/full-sets.json', import.meta.url), 'utf8')) as Record<
  string,
  string[]
>
const elsewhere = Object.keys(sets).flatMap((name) => (process.env['OARFISH_SET'] === name ? [] : sets[name]!))

/** Tests that fill the machine with processes, or install what they need, run two files at a time; all others on every core. */
const IN_PAIRS = [
  'test/{attack,chaos,chromium,cluster,collective,kube,netns,python,submit,webgpu}/**/*.test.ts',
  'test/ps/{bad-input,busy-host,failure,faulty-frames,staleness}.test.ts',
  'test/fleet/programs.test.ts',
  'test/ops/onnx.test.ts',
  'test/{first-hour,tutorial}.test.ts',
]

/** What takes seconds together. `npm run fast` and `npm run test:nodes` run it alone; `npm test` begins with it. */
const fast = JSON.parse(readFileSync(new URL('./test/fast-set.json', import.meta.url), 'utf8')) as {
  readonly include: string[]
  readonly slow: string[]
}

const ofTests = (globs: readonly string[]) => globs.filter((glob) => glob.startsWith('test/'))

/** `oarfish` and `oarfish/nn` as this checkout has them. */
const source = (name: string) => fileURLToPath(new URL(`./src/${name}.ts`, import.meta.url))
const resolve = {
  alias: [
    { find: /^oarfish$/, replacement: source('index') },
    { find: /^oarfish\/(nn|fleet|fluid|trainer)$/, replacement: source('$1') },
  ],
}
const shared = {
  env: { PYTHONDONTWRITEBYTECODE: '1' }, // nothing is written beside sources
  pool: 'forks',
  // Of tests that are marked so: they wait for a cluster, not for this machine.
  maxConcurrency: 12,
  // No test is held to these: they end one that hangs.
  testTimeout: 240_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 60_000, interval: 20 } },
} as const

/** Projects run one after the other, by their order. */
const whole = [
  {
    resolve,
    test: {
      ...shared,
      name: 'fast',
      include: fast.include,
      exclude: [...configDefaults.exclude, ...fast.slow],
      // One process loads the sources once for all its files: half the time.
      isolate: false,
      maxWorkers: '100%',
      sequence: { groupOrder: 0 },
    },
  },
  {
    resolve,
    test: {
      ...shared,
      name: 'beside others',
      include: ['test/**/*.test.ts', 'models/**/*.test.ts', ...fast.slow],
      exclude: [...configDefaults.exclude, ...elsewhere, ...IN_PAIRS, ...ofTests(fast.include)],
      maxWorkers: '100%',
      sequence: { groupOrder: 1 },
    },
  },
  {
    resolve,
    test: {
      ...shared,
      name: 'in pairs',
      include: IN_PAIRS,
      exclude: [...configDefaults.exclude, ...elsewhere],
      maxWorkers: 2,
      sequence: { groupOrder: 2 },
    },
  },
]

export default defineConfig({
  test: {
    globalSetup: 'scripts/built-tests.mjs', // not of each project: once
    projects: process.env['OARFISH_SET'] === 'fast' ? whole.slice(0, 1) : whole,
  },
})
