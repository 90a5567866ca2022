import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { alias: { oarfish: fileURLToPath(new URL('./src/index.ts', import.meta.url)) } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'models/**/*.test.ts'],
    pool: 'forks',
    // Many tests start processes and hold them to seconds; on a busy machine one may come late once. Twice is a failure.
    retry: process.env['CI'] ? 1 : 0,
    // Of tests that are marked so: they wait for a cluster, not for this machine.
    maxConcurrency: 12,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
