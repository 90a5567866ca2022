#!/usr/bin/env node
/** @file The `oarfish` command: hands over to dist/cli/main.js. */
import { existsSync } from 'node:fs'

const main = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(main)) {
  const { run } = await import(main.href)
  process.exitCode = await run(process.argv.slice(2))
} else {
  console.error('oarfish is not built yet. Run this in its folder:\n  npm run build')
  process.exitCode = 2
}
