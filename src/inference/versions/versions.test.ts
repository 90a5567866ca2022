import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { takeChanges } from './changes.ts'
import { readDelta, writeDelta } from './delta.ts'
import { parseTableChanges, type RowForm, tableChangesFile } from './delta-table.ts'
import { chainOf, parseVersions, type Version, versionLine } from './log.ts'
import { projection } from './project.ts'
import { ascending, PublishedRows, wordsOf } from './published-rows.ts'
import { applyChanges } from './replay.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-versions-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const DIM = 3
type Model = Map<bigint, number[]>

const stored = (model: Model) => ({
  signs: BigUint64Array.from(model.keys()),
  rows: new Uint8Array(Float32Array.from([...model.values()].flat()).buffer),
})

const contentOf = (rows: PublishedRows) => {
  const { signs, weights } = rows.sorted()
  return [...signs].map((sign, i) => [sign, [...weights.subarray(i * DIM, (i + 1) * DIM)]] as const)
}

const change = (published: PublishedRows, model: Model, form: RowForm = 'float32', owed?: Set<bigint>) =>
  takeChanges({
    published,
    project: projection({ dim: DIM, rowBytes: 4 * DIM, precision: 'float32' }),
    form,
    blocks: [stored(model)],
    isWhole: true,
    owed,
  })

const value = fc.float({ noNaN: true, noDefaultInfinity: true, min: -100, max: 100 })
const models = fc.array(fc.dictionary(fc.bigInt(0n, 40n).map(String), fc.tuple(value, value, value), { maxKeys: 30 }), {
  minLength: 1,
  maxLength: 6,
})

describe('changes', () => {
  test('applied one after the other they give the rows of the trainer, whatever came and went', async () => {
    await fc.assert(
      fc.asyncProperty(models, async (steps) => {
        const [published, follower] = [new PublishedRows(DIM), new PublishedRows(DIM)]
        for (const step of steps) {
          const model: Model = new Map(Object.entries(step).map(([sign, row]) => [BigInt(sign), row]))
          const changes = await change(published, model)
          applyChanges(follower, changes)
          const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1))
          expect(contentOf(follower)).toEqual(sorted.map(([sign, row]) => [sign, [...Float32Array.from(row)]]))
          expect(follower.digest).toBe(published.digest)
          // Nothing is published twice.
          const again = await change(published, model)
          expect([again.signs.length, again.gone.length]).toEqual([0, 0])
        }
      }),
      { numRuns: 60 },
    )
  })

  test('of rows as bytes the error is stated, and a row that did not change is not published again', async () => {
    const published = new PublishedRows(DIM)
    const model: Model = new Map([
      [1n, [0, 0.5, 1]],
      [2n, [3, 3, 3]],
    ])
    const { maxError, weights } = await change(published, model, 'int8')
    expect(maxError).toBeGreaterThan(0)
    expect(maxError).toBeLessThanOrEqual(1 / 255 / 2 + 1e-6)
    expect([...weights]).toEqual([0, 0.5, 1, 3, 3, 3]) // the file makes bytes of them, once
    expect((await change(published, model, 'int8')).signs).toHaveLength(0)
  })

  test('what could not be published comes with the next', async () => {
    const published = new PublishedRows(DIM)
    await change(published, new Map([[1n, [1, 1, 1]], [2n, [2, 2, 2]]])) // biome-ignore format: rows
    await change(published, new Map([[1n, [9, 9, 9]]])) // lost: 1 changed, 2 went
    const next = await change(published, new Map([[1n, [9, 9, 9]]]), 'float32', new Set([1n, 2n]))
    expect([...next.signs, ...next.gone]).toEqual([1n, 2n])
    expect([...next.weights]).toEqual([9, 9, 9])
  })
})

const rows = fc.array(fc.tuple(value, value, value), { minLength: 1, maxLength: 20 })

describe('a delta', () => {
  const write = async (name: string, form: RowForm) => {
    const published = new PublishedRows(DIM)
    await change(published, new Map([[7n, [1, 2, 3]]]), form)
    const changes = await change(published, new Map([[8n, [0, 128, 255]], [2n ** 64n - 1n, [1, 1, 1]]]), form) // biome-ignore format: rows
    const at = join(folder, name)
    await (await import('node:fs/promises')).mkdir(at)
    const table = { ...changes, name: 'embedding', form, digest: published.digest }
    const place = { sequence: 2, day: '20190720', pass: 1, follows: 'a', base: 'a', steps: 5 }
    await writeDelta({ folder: at, model: new Uint8Array([1, 2]), tables: [table], ...place })
    return { at, changes, published }
  }

  test.each(['float32', 'int8'] as const)('is read as it was written, rows of %s', async (form) => {
    const { at, changes, published } = await write(form, form)
    const { tables, manifest, model } = await readDelta(at)
    expect(tables[0]).toEqual({
      dim: DIM,
      signs: changes.signs,
      gone: BigUint64Array.of(7n),
      weights: published.sorted().weights,
    })
    expect(manifest).toMatchObject({ sequence: 2, follows: 'a', tables: [{ rows: 2, gone: 1, form }] })
    expect([...model]).toEqual([1, 2])
  })

  test.each([0, 2])(
    'of bytes gives the rows that its trainer has as published, %i columns of counts',
    async (leading) => {
      await fc.assert(
        fc.asyncProperty(rows, async (list) => {
          const published = new PublishedRows(DIM)
          const blocks = [
            stored(new Map(list.map(([show, click, weight], i) => [BigInt(i), [1e6 * show, click, weight]]))),
          ]
          const project = projection({ dim: DIM, rowBytes: 4 * DIM, precision: 'float32' })
          const changes = await takeChanges({ published, project, form: 'int8', leading, blocks, isWhole: true })
          const read = parseTableChanges(Buffer.concat(tableChangesFile(changes, 'int8')), 'a file')
          expect(read.weights).toEqual(published.sorted().weights)
          if (leading === 2) expect(changes.maxError).toBe(0) // a single weight is exact
        }),
        { numRuns: 50 },
      )
    },
  )

  test('that was cut off or altered is refused with its file', async () => {
    const { at } = await write('cut', 'float32')
    await truncate(join(at, 'table-0.delta'), 70)
    await expect(readDelta(at)).rejects.toMatchObject({
      code: 'VERSION_DAMAGED',
      where: { file: join(at, 'table-0.delta') },
    })
    const other = await write('altered', 'float32')
    await writeFile(join(other.at, 'model.onnx'), new Uint8Array([1, 3]))
    await expect(readDelta(other.at)).rejects.toThrow('checksum')
  })
})

test('a chain ends at its base, and is none where a version is missing', () => {
  const version = (id: string, follows: string | null, kind: Version['kind'] = 'delta'): Version => ({
    ...{ sequence: 1, kind, day: '20190720', pass: 1, path: id, id, follows, base: 'a' },
    ...{ rows: 0, gone: 0, bytes: 0, publishedAt: '' },
  })
  const all = [
    version('a', null, 'base'),
    version('b', 'a'),
    version('c', 'b'),
    version('d', 'c', 'base'),
    version('e', 'd'),
  ]
  const names = (chain: readonly Version[] | undefined) => chain?.map(({ id }) => id)
  expect(names(chainOf(all, all[2]!))).toEqual(['a', 'b', 'c'])
  expect(names(chainOf(all, all[4]!))).toEqual(['d', 'e'])
  expect(chainOf([all[0]!, all[2]!], all[2]!)).toBeUndefined()
  expect(parseVersions(all.map(versionLine).join(''), '')).toEqual(all)
  expect(() => parseVersions('{"sequence": 1}\n', 'out')).toThrow('this line cannot be read')
})

test('signs are put in order as whole numbers of 64 bits, whatever their halves', () => {
  const rng = createRng(7n)
  const signs = BigUint64Array.from({ length: 5000 }, (_, i) =>
    i % 3 === 0 ? BigInt(rng.below(100)) : (BigInt(rng.below(2 ** 32)) << 32n) | BigInt(rng.below(2 ** 32)),
  )
  const order = ascending(wordsOf(signs), signs.length)
  expect([...order].map((i) => signs[i])).toEqual([...signs.toSorted()])
  expect([...ascending(new Uint32Array(0), 0)]).toEqual([])
})
