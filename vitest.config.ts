import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

/** Tests that take minutes have commands of their own: scripts/full-set.mjs. */
const sets = JSON.parse(readFileSync(new URL('./test/full-sets.json', import.meta.url), 'utf8')) as Record<
  string,
  string[]
>
const elsewhere = Object.keys(sets).flatMap((name) => (process.env['OARFISH_SET'] === name ? [] : sets[name]!))

/** Tests that hold processes to seconds, or install what they need, run one file at a time; all others on every core. */
const ALONE = [
  'test/{cluster,collective,kube,netns,python,submit}/**/*.test.ts',
  'test/ps/{bad-input,failure}.test.ts',
  'test/fleet/programs.test.ts',
  'test/ops/onnx.test.ts',
]

export default defineConfig({
  resolve: { alias: { oarfish: fileURLToPath(new URL('./src/index.ts', import.meta.url)) } },
  test: {
    pool: 'forks',
    // Many tests start processes and hold them to seconds; on a busy machine one may come late once. Twice is a failure.
    retry: process.env['CI'] ? 1 : 0,
    // Of tests that are marked so: they wait for a cluster, not for this machine.
    maxConcurrency: 12,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Projects run one after the other, by their order.
    projects: [
      {
        extends: true,
        test: {
          name: 'beside others',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'models/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...elsewhere, ...ALONE],
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          exclude: [...configDefaults.exclude, ...elsewhere],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
