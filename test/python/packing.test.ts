/** @file Samples of a reader in Python with a real numpy: packed as they come they are what they are one by one. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const environment = spawnSync(process.execPath, [file('scripts/python-env.mjs')], { encoding: 'utf8' })
if (environment.status !== 0) console.warn(`python-onnx: skipped. ${environment.stderr.trim()}`)

test.skipIf(environment.status !== 0)(
  'packing changes nothing, whatever samples look like',
  { timeout: 120_000 },
  () => {
    const python = environment.stdout.trim()
    const { stdout, stderr } = spawnSync(python, [file('test/python/packing.py'), file('python')], { encoding: 'utf8' })
    expect(stderr).toBe('')
    const same = JSON.parse(stdout) as Readonly<Record<string, boolean>>
    expect(Object.keys(same)).toHaveLength(13)
    expect(Object.entries(same).filter(([, isSame]) => !isSame)).toEqual([])
  },
)
