/** @file A geo job on a host whose cores are fought for: `npm run test:busy`, once and with little data. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../scripts/busy-host.mjs', import.meta.url))
const LIMIT_MS = 900_000

test(
  'a geo job of 4 workers trains to its end beside stress-ng --cpu 20',
  async (context) => {
    const child = spawn(process.execPath, [SCRIPT, '--runs', '1', '--rows', '20000'], { timeout: LIMIT_MS })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    const code = await new Promise((resolve) => child.on('close', resolve))
    // It installs stress-ng where it may.
    if (code === 2) return context.skip(said)
    expect(code, said).toBe(0)
    expect(said).toMatch(/run 1 of 1: done in \d+ s, auc 0\.\d+/)
  },
  LIMIT_MS,
)
