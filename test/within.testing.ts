/** @file Time limits that the product promises, held on a machine that may be busy with something else. */
import { execFile } from 'node:child_process'
import { availableParallelism, loadavg } from 'node:os'
import { promisify } from 'node:util'
import { expect } from 'vitest'

/**
 * Fails when something took longer than promised. What is over the limit is divided by how much slower than a quiet one this machine is now,
 * so that the promise is held as it stands where nothing else runs, and nothing else is what fails where it does.
 */
export async function expectWithin(ms: number, limitMs: number, what = 'this'): Promise<void> {
  if (ms <= limitMs) return
  const times = await slowdown()
  const told = `${what} took ${Math.round(ms)} ms, of ${limitMs} ms, on a machine ${times.toFixed(1)} times as slow as a quiet one`
  expect(ms / times, told).toBeLessThanOrEqual(limitMs)
}

/** Computes on every core until it has had 300 ms of it. */
const SPIN = `const began = performance.now()
const had = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
while (had() < 300) for (let i = 0; i < 1e5; i++);
console.log((performance.now() - began) / had())`

/** How much longer than its own time work on all cores takes, or how many wait for a core in the last minute, whichever is more. */
async function slowdown(): Promise<number> {
  const run = promisify(execFile)
  const spins = Array.from({ length: availableParallelism() }, () => run(process.execPath, ['-e', SPIN]))
  const ratios = (await Promise.all(spins)).map(({ stdout }) => Number(stdout))
  return Math.max(1, ...ratios, loadavg()[0]! / availableParallelism())
}
