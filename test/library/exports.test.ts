/** @file What the package exports: documented, each name in one place, internals nowhere. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const ENTRIES = ['oarfish', 'nn', 'fleet', 'fluid', 'trainer'] as const

test('docs/reference/api/ is what the declarations say, and every name has a sentence', () => {
  const script = fileURLToPath(new URL('scripts/api.mjs', ROOT))
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

/** Names by page, which the test above holds to the declarations. */
const names = Object.fromEntries(
  ENTRIES.map((entry) => {
    const page = readFileSync(new URL(`docs/reference/api/${entry}.md`, ROOT), 'utf8')
    return [entry, [...page.matchAll(/^### `(.+)`$/gm)].map(([, name]) => name!)]
  }),
) as Record<(typeof ENTRIES)[number], string[]>

/** Names are Paddle's there: it has an optimizer, a Variable and so on of its own. */
const PADDLE_NAMES = ['InMemoryDataset', 'optimizer', 'Variable']

test('a name is exported from one place', () => {
  const all = ENTRIES.flatMap((entry) => names[entry].map((name) => ({ entry, name })))
  const twice = all.filter(({ name }) => all.filter((other) => other.name === name).length > 1)
  expect(twice.filter(({ entry }) => entry === 'fluid').map(({ name }) => name)).toEqual(PADDLE_NAMES)
  expect(twice.filter(({ name }) => !PADDLE_NAMES.includes(name))).toEqual([])
})

test('the root is small, and internals are exported nowhere', async () => {
  const root = await import('../../src/index.ts')
  expect(Object.keys(root).length).toBeLessThan(45)
  const internals = [
    'ROW_STEP',
    'ROW_ROUNDS',
    'SECOND_WORD',
    'SHAPE_RULES',
    'Builder',
    'verify',
    'printProgram',
    'POOLINGS',
  ]
  expect(
    Object.values(names)
      .flat()
      .filter((name) => internals.includes(name)),
  ).toEqual([])
})

test('the calls of docs/guide/library.md are the root’s', async () => {
  const root: object = await import('../../src/index.ts')
  for (const call of ['train', 'evaluate', 'exportModel', 'openPredictor', 'serve', 'launch', 'loadConfig'])
    expect(root).toHaveProperty(call, expect.any(Function))
})

test('optimizers show their defaults', () => {
  const page = readFileSync(new URL('docs/reference/api/oarfish.md', ROOT), 'utf8')
  expect(page).toContain(
    '| `optimizer.adam` | `learningRate: 0.001`, `beta1: 0.9`, `beta2: 0.999`, `epsilon: 1e-8`, `lazy: false` |',
  )
})
