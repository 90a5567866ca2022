import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

/** Tests that take minutes have commands of their own: scripts/full-set.mjs. */
const sets = JSON.parse(readFileSync(new URL('./test/full-sets.json', import.meta.url), 'utf8')) as Record<
  string,
  string[]
>
const elsewhere = Object.keys(sets).flatMap((name) => (process.env['OARFISH_SET'] === name ? [] : sets[name]!))

export default defineConfig({
  resolve: { alias: { oarfish: fileURLToPath(new URL('./src/index.ts', import.meta.url)) } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'models/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...elsewhere],
    pool: 'forks',
    // Many tests start processes and hold them to seconds; on a busy machine one may come late once. Twice is a failure.
    retry: process.env['CI'] ? 1 : 0,
    // Of tests that are marked so: they wait for a cluster, not for this machine.
    maxConcurrency: 12,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
