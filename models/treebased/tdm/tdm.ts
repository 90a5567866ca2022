/**
 * @file What TDM needs beside training, each a word after `oarfish exec tdm.ts`:
 *
 *   build ITEMS TREE              a tree of lines `item value value ..`: its category to begin with, vectors later
 *   vectors EXPORT TREE OUT       the vectors of all leaves, by item: what the next tree is built of
 *   search EXPORT TREE FILE K     of histories, the last item being what was taken: how often it is among the K items that a search finds
 */
import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { openPredictor, type Predictor } from 'oarfish'
import { beamSearch, buildTree, type Placed, readTree, type Tree, treeText } from './tree.ts'

const COMMANDS: Readonly<Record<string, (...paths: string[]) => Promise<string>>> = {
  async build(items, out) {
    const tree = buildTree(placedOf(await readFile(items!, 'utf8'), items!))
    await writeFile(out!, treeText(tree))
    return `${out}: ${tree.leafOf.size} items, ${tree.layers.length} layers`
  },

  async vectors(model, path, out) {
    const tree = await readTree(path!)
    await using predictor = await openPredictor({ model: model!, fillMissing: true })
    const [items, leaves] = [[...tree.leafOf.keys()], [...tree.leafOf.values()]]
    const { data, dims } = (await predictor.score(leaves.map((code) => ({ user: [code], unit_id: code })))).outputs[
      'node_vector'
    ]!
    const width = dims[1]!
    const rows = items.map(
      (item, i) => `${item} ${Array.from(data.slice(i * width, (i + 1) * width), Number).join(' ')}\n`,
    )
    await writeFile(out!, rows.join(''))
    return `${out}: ${items.length} vectors of ${width} values`
  },

  async search(model, path, histories, topk) {
    const tree = await readTree(path!)
    await using predictor = await openPredictor({ model: model!, fillMissing: true })
    let [found, all] = [0, 0]
    for await (const line of createInterface({ input: createReadStream(histories!) })) {
      const items = line.trim().split(/\s+/)
      if (items.length < 2) continue
      const best = await searchItems(predictor, tree, items.slice(0, -1), Number(topk))
      if (best.some(({ item }) => item === items.at(-1))) found++
      all++
    }
    return `recall@${topk}: ${(found / all).toFixed(4)} of ${all} histories`
  },
}

/** The `topk` items for a history. */
export function searchItems(predictor: Predictor, tree: Tree, history: readonly string[], topk: number) {
  const user = history.flatMap((item) => tree.leafOf.get(item) ?? [])
  const score = async (nodes: readonly number[]) =>
    (await predictor.score(nodes.map((code) => ({ user, unit_id: code })))).scores
  return beamSearch(tree, score, topk)
}

/** Lines `item value value ..`. */
export function placedOf(text: string, path: string): Placed[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, i) => {
    const [item, ...values] = line.trim().split(/\s+/)
    const vector = values.map(Number)
    if (vector.length > 0 && vector.every(Number.isFinite)) return { item: item!, vector }
    throw new Error(`${path}:${i + 1}: expected an item and numbers, found "${line}"`)
  })
}

if (process.argv[1]?.endsWith('tdm.ts')) {
  const [word = '', ...paths] = process.argv.slice(2)
  const command = COMMANDS[word]
  if (!command || paths.length < 2)
    throw new Error('expected build ITEMS TREE, vectors EXPORT TREE OUT or search EXPORT TREE FILE K')
  console.log(await command(...paths))
}
