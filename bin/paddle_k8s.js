#!/usr/bin/env node
/** @file The `paddle_k8s` command: hands over to dist/cli/main.js. */
import { existsSync } from 'node:fs'

const main = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(main)) {
  const { runPaddleK8s } = await import(main.href)
  const code = await runPaddleK8s(process.argv.slice(2))
  process.exitCode = code
  // After a failure a thread may still be busy: it is not waited for. Unref'd, so a process that is done ends at once.
  setTimeout(() => process.exit(code), 2000).unref()
} else {
  console.error('oarfish is not built yet. Run this in its folder:\n  npm run build')
  process.exitCode = 2
}
