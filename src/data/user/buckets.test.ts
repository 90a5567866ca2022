import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { bucketedByLength } from './buckets.ts'
import { createUserSource } from './user-source.ts'

const lengths = Array.from({ length: 1003 }, (_, i) => (i * 37) % 200)
const bucketed = (seed: bigint) =>
  bucketedByLength(lengths, { lengthOf: (x) => x, batchSize: 10, random: createRng(seed) })

test('batches hold sequences of like length, in an order of their own in each epoch', () => {
  const order = bucketed(1n)
  expect([...order].sort((a, b) => a - b)).toEqual([...lengths].sort((a, b) => a - b))
  const batches = Array.from({ length: 100 }, (_, i) => order.slice(10 * i, 10 * i + 10))
  const padding = batches.map((batch) => Math.max(...batch) - Math.min(...batch))
  expect(Math.max(...padding)).toBeLessThan(30)
  expect(batches.map((batch) => batch[0])).not.toEqual(batches.map((batch) => batch[0]).sort((a, b) => a! - b!))
  expect(bucketed(1n)).toEqual(order)
  expect(bucketed(2n)).not.toEqual(order)
})

test('a reader draws by the seed of its pass', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-pass-'))
  try {
    const path = join(folder, 'reader.mjs')
    await writeFile(
      path,
      `export class RecDataset { constructor(files, config, pass) { this.pass = pass }
       *[Symbol.iterator]() { yield { a: [this.pass.seed] } } }`,
    )
    const open = createUserSource({ slots: [{ kind: 'sparse', name: 'a' }], userReader: { path, config: {} } })
    const signs: bigint[] = []
    for await (const { columns } of open({ number: 0, place: 0, kind: 'user', file: path, from: 0, to: 1 }, 77))
      signs.push(...columns.signs)
    expect(signs).toEqual([77n])
  } finally {
    await rm(folder, { recursive: true })
  }
})
