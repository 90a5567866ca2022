/** @file TDM's tree: built, searched, drawn from, and searched with a trained model. */
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { placedOf, searchItems } from '../../models/treebased/tdm/tdm.ts'
import { RecDataset } from '../../models/treebased/tdm/tdm_reader.ts'
import { beamSearch, buildTree, parentOf, pathOf, readTree, treeOf, treeText } from '../../models/treebased/tdm/tree.ts'
import { loadConfig } from '../../src/base/config/index.ts'
import { openPredictor } from '../../src/library/index.ts'
import { exportCheckpoint, train } from '../../src/training/driver/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-tdm-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
const MODEL = fileURLToPath(new URL('../../models/treebased/tdm', import.meta.url))

describe('a tree', () => {
  const items = Array.from({ length: 21 }, (_, i) => ({ item: `i${i}`, vector: [i % 3 === 0 ? 10 : 0, Math.sin(i)] }))
  const tree = buildTree(items)

  test('has every item as a leaf of its last layer, below all layers', () => {
    expect([...tree.leafOf.keys()].sort()).toEqual(items.map(({ item }) => item).sort())
    expect(tree.layers.map((layer) => layer.length)).toEqual([1, 2, 4, 8, 16, 21])
    for (const leaf of tree.layers.at(-1)!) {
      const path = pathOf(leaf)
      expect(path.map((code, i) => tree.layers[i + 1]!.includes(code))).toEqual([true, true, true, true, true])
      expect([0, ...path.slice(0, -1)]).toEqual(path.map(parentOf))
    }
  })

  test('puts what is near under one node', () => {
    const two = buildTree([5, 0.1, 5.2, 0, 5.1, 0.2].map((x, i) => ({ item: `${i}`, vector: [x] })))
    const side = (item: string) => pathOf(two.leafOf.get(item)!)[0]
    expect([side('0'), side('2'), side('4')]).toEqual(Array(3).fill(side('0')))
    expect([side('1'), side('3'), side('5')]).toEqual(Array(3).fill(side('1')))
    expect(side('0')).not.toBe(side('1'))
  })

  test('is read as it was written; leaves in two layers and lines without a code are refused', async () => {
    const path = join(folder, 'tree.txt')
    await writeFile(path, treeText(tree))
    expect(await readTree(path)).toEqual(tree)
    await writeFile(path, 'i1 3\ni2\n')
    await expect(readTree(path)).rejects.toThrow('tree.txt:2: expected an item and the code of its leaf')
    expect(() => treeOf([['a', 1], ['b', 5]])).toThrow('all in one layer') // biome-ignore format: one line
    expect(() => placedOf('i1 2\ni2 x\n', 'items.txt')).toThrow('items.txt:2: expected an item and numbers')
  })

  test('is searched for the best leaves, where a node is as good as the best below it, and a node in few looks', async () => {
    const worth = new Map<number, number>()
    for (const [i, leaf] of tree.layers.at(-1)!.entries())
      for (const code of pathOf(leaf)) worth.set(code, Math.max(worth.get(code) ?? 0, Math.sin(7 * i) + 1))
    let looks = 0
    const score = async (nodes: readonly number[]) => {
      looks += nodes.length
      return nodes.map((code) => worth.get(code)!)
    }
    const best = await beamSearch(tree, score, 3)
    const all = [...tree.itemOf]
      .map(([code, item]) => ({ item, score: worth.get(code)! }))
      .sort((a, b) => b.score - a.score)
    expect(best).toEqual(all.slice(0, 3))
    expect(looks).toBeLessThan(21)
    expect(await beamSearch(tree, score, 50)).toHaveLength(21)
  })
})

test('the reader says yes to the nodes above an item and no to others of their layers', async () => {
  const file = join(folder, 'part-000')
  await writeFile(file, 'i1 i2 i50\n')
  const hyper_parameters = {
    tree_path: 'data/tree.txt',
    item_nums: 1,
    start_sample_layer: 2,
    tdm_layer_counts: [0, 1, 2],
  }
  const { leafOf, layers } = await readTree(join(MODEL, 'data/tree.txt'))
  const samples: { user: number[]; unit_id: number; label: number }[] = []
  const reader = new RecDataset([file], { runner: {}, hyper_parameters } as never)
  for await (const sample of reader) samples.push(sample as never)
  expect(samples.filter(({ label }) => label === 1).map(({ unit_id }) => unit_id)).toEqual(
    pathOf(leafOf.get('i50')!).slice(1),
  )
  expect(samples.map(({ label }) => label)).toEqual([2, 3, 4, 5, 6, 7].flatMap(() => [1, 0, 0]))
  expect(samples.every(({ user }) => user.length === 1 && user[0] === leafOf.get('i2'))).toBe(true)
  for (const [i, { unit_id, label }] of samples.entries()) {
    expect(layers[2 + Math.floor(i / 3)]).toContain(unit_id)
    if (label === 0) expect(pathOf(leafOf.get('i50')!)).not.toContain(unit_id)
  }
  await writeFile(file, 'i1 nobody\n')
  const read = async () => {
    for await (const _ of new RecDataset([file], { runner: {}, hyper_parameters } as never));
  }
  await expect(read()).rejects.toThrow('item nobody is not in the tree')
})

test('a trained model finds items of the kind that a history is of', async () => {
  const overrides = ['runner.epochs=3', `runner.model_save_path=${join(folder, 'saved')}`]
  const config = loadConfig({ path: join(MODEL, 'config.yaml'), overrides })
  await train({ config, emit: () => {} })
  await exportCheckpoint({ config, out: join(folder, 'exported'), emit: () => {} })
  await using predictor = await openPredictor({ model: join(folder, 'exported'), fillMissing: true })
  const best = await searchItems(
    predictor,
    await readTree(join(MODEL, 'data/tree.txt')),
    ['i13', 'i14', 'i12', 'i15'],
    10,
  )
  expect(best).toHaveLength(10)
  const ofKind = best.filter(({ item }) => Math.floor(Number(item.slice(1)) / 12) === 1)
  expect(ofKind.length).toBeGreaterThan(3) // one or two by chance
})
