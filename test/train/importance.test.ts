/** @file `oarfish importance` on a model whose data is known: the slot that decides, slots that say nothing, and what is wrong. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readImportance } from '../../src/base/runs/index.ts'
import { permutation, shuffled } from '../../src/training/driver/shuffled.ts'
import { oarfish } from '../oarfish.testing.ts'

let folder: string
const MODEL = fileURLToPath(new URL('../../models/rank/dnn', import.meta.url))
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-importance-'))
  cpSync(MODEL, folder, { recursive: true, filter: (path) => !path.includes('data') })
  // Slot 3 says whether there is a click in four cases of five; all others are noise.
  const random = randomOf(7)
  const sample = () => {
    const click = Math.round(random())
    const told = random() < 0.8 ? click : 1 - click
    const ids = Array.from(
      { length: 26 },
      (_, i) => `${i + 1}:${100 * (i + 1) + (i === 2 ? told : Math.floor(random() * 4))}`,
    )
    return `click:${click} ${Array.from({ length: 13 }, () => `dense_feature:${random().toFixed(3)}`).join(' ')} ${ids.join(' ')}`
  }
  for (const [name, lines] of [
    ['train', 3000],
    ['test', 1500],
  ] as const) {
    mkdirSync(join(folder, 'data/sample_data', name), { recursive: true })
    writeFileSync(
      join(folder, 'data/sample_data', name, 'part-0'),
      `${Array.from({ length: lines }, sample).join('\n')}\n`,
    )
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function randomOf(seed: number): () => number {
  const values = permutation(100_000, seed)
  let at = 0
  return () => values[at++ % values.length]! / values.length
}

const run = (...args: string[]) => oarfish(args, folder)
const CONFIG = ['-m', 'config.yaml', '-o', 'runner.epochs=2', 'hyper_parameters.fc_sizes=[16]']

test('the slot that decides loses most, noise loses nothing, and the page of the run has it', async () => {
  expect((await run('train', ...CONFIG, '--name', 'one')).code).toBe(0)
  const { code, out } = await run('importance', ...CONFIG, '--rounds', '2')
  expect(code, out).toBe(0)
  expect(out).toMatch(/auc 0\.[78]\d+ of epoch 1 on 1500 samples/)
  expect(out).toContain('Shown with run one')
  const { slots, samples, auc } = readImportance(join(folder, 'runs/one'))!
  expect([samples, slots.length, slots[0]!.slot]).toEqual([1500, 27, '3'])
  expect(slots[0]!.lost).toBeGreaterThan(0.2)
  expect(auc - slots[0]!.lost).toBeLessThan(0.58)
  for (const { lost } of slots.slice(1)) expect(Math.abs(lost)).toBeLessThan(0.05)
  expect(slots[0]!.spread).toBeGreaterThan(0)
  expect(readdirSync(join(folder, 'runs'))).toEqual(['one'])
})

test('an epoch that was not saved, too few samples and no rounds are said', async () => {
  expect((await run('importance', ...CONFIG, '--epoch', '9')).err).toMatch(/9/)
  expect((await run('importance', ...CONFIG, '--epoch', '9')).code).toBe(2)
  expect((await run('importance', ...CONFIG, '--rounds', '0')).err).toContain('Expected 1 or more')
  expect((await run('importance', ...CONFIG, '--samples', '3')).err).toContain('Expected 100 or more')
})

test('shuffling moves one slot and nothing else', () => {
  const slots = [
    { name: 'a', kind: 'sparse' },
    { name: 'b', kind: 'sparse' },
    { name: 'x', kind: 'dense', width: 2, dtype: 'float32' },
  ] as never
  const columns = {
    samples: 3,
    counts: Uint32Array.of(1, 2, 0, 1, 2, 0),
    starts: Uint32Array.of(0, 3, 4, 6),
    signs: BigUint64Array.of(1n, 10n, 11n, 20n, 2n, 3n),
    dense: [Float32Array.of(0, 1, 2, 3, 4, 5)],
  }
  const order = Uint32Array.of(2, 0, 1)
  const b = shuffled(slots, columns, 'b', order)
  expect([...b.counts]).toEqual([1, 0, 0, 2, 2, 1])
  expect([...b.starts]).toEqual([0, 1, 3, 6])
  expect([...b.signs]).toEqual([1n, 10n, 11n, 2n, 3n, 20n])
  expect([...shuffled(slots, columns, 'x', order).dense[0]!]).toEqual([4, 5, 0, 1, 2, 3])
  expect(new Set(permutation(1000, 1)).size).toBe(1000)
  expect(permutation(1000, 1)).not.toEqual(permutation(1000, 2))
})
