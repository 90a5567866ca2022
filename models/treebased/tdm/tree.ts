/**
 * @file The tree of TDM: items are the leaves of a binary tree, all in its last layer. A node is its code: the root is 0, the children of c are 2c + 1 and 2c + 2, so that
 * ancestors need no table. A file of a tree has a line `item code` for each leaf.
 */
import { readFile } from 'node:fs/promises'
import { createRng, type Rng, shuffled } from 'oarfish'

const BRANCH = 2
/** Rounds of k-means; halves seldom change after these. */
const ROUNDS = 10

export interface Tree {
  /** Codes of leaves by item, and items by code. */
  readonly leafOf: ReadonlyMap<string, number>
  readonly itemOf: ReadonlyMap<number, string>
  /** The nodes that have an item below them, layer by layer from the root on. */
  readonly layers: readonly (readonly number[])[]
}

/** An item and where it stands in the space that is clustered. */
export interface Placed {
  readonly item: string
  readonly vector: readonly number[]
}

export const parentOf = (code: number) => Math.floor((code - 1) / BRANCH)

/** The path of a leaf, from the root's child down to itself. */
export function pathOf(leaf: number): number[] {
  const path: number[] = []
  for (let code = leaf; code > 0; code = parentOf(code)) path.unshift(code)
  return path
}

export function treeOf(leaves: readonly (readonly [item: string, code: number])[]): Tree {
  const layers: number[][] = [leaves.map(([, code]) => code)]
  while (layers[0]!.some((code) => code > 0)) layers.unshift([...new Set(layers[0]!.map(parentOf))])
  const depths = new Set(leaves.map(([, code]) => pathOf(code).length))
  if (depths.size !== 1) throw new Error('expected leaves that are all in one layer, and at least one')
  const [leafOf, itemOf] = [new Map(leaves), new Map(leaves.map(([item, code]) => [code, item]))]
  if (leafOf.size !== leaves.length || itemOf.size !== leaves.length)
    throw new Error('an item or a code is there twice')
  return { leafOf, itemOf, layers }
}

export async function readTree(path: string): Promise<Tree> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '')
  return treeOf(
    lines.map((line, i) => {
      const [item, code] = line.trim().split(/\s+/)
      if (!/^\d+$/.test(code ?? '')) throw new Error(`${path}:${i + 1}: expected an item and the code of its leaf`)
      return [item!, Number(code)] as const
    }),
  )
}

export function treeText({ leafOf }: Tree): string {
  return [...leafOf].map(([item, code]) => `${item} ${code}\n`).join('')
}

/** A balanced tree in which items that are near each other share ancestors: halves by 2-means, again and again, the sizes of two halves differing by one at most. */
export function buildTree(items: readonly Placed[], seed = 1): Tree {
  const random = createRng(BigInt(seed))
  const height = Math.ceil(Math.log2(Math.max(2, items.length)))
  const leaves: [string, number][] = []
  const place = (group: readonly Placed[], code: number, depth: number): void => {
    if (depth === height) leaves.push([group[0]!.item, code])
    else if (group.length === 1) place(group, BRANCH * code + 1, depth + 1)
    else for (const [i, half] of halves(group, random).entries()) place(half, BRANCH * code + 1 + i, depth + 1)
  }
  place(items, 0, 0)
  return treeOf(leaves)
}

/** 2-means in which each side gets half: items in the order of how much nearer they are to the first center. */
function halves(group: readonly Placed[], random: Rng): readonly Placed[][] {
  const middle = Math.ceil(group.length / 2)
  const first = shuffled([...group], random)
  let sides = [first.slice(0, middle), first.slice(middle)]
  for (let round = 0; round < ROUNDS; round++) {
    const [a, b] = sides.map(centerOf)
    const pull = (placed: Placed) => distance(placed.vector, a!) - distance(placed.vector, b!)
    const sorted = group.map((placed) => ({ placed, pull: pull(placed) })).sort((x, y) => x.pull - y.pull)
    sides = [sorted.slice(0, middle), sorted.slice(middle)].map((side) => side.map(({ placed }) => placed))
  }
  return sides
}

function centerOf(group: readonly Placed[]): number[] {
  return group[0]!.vector.map((_, i) => group.reduce((sum, { vector }) => sum + vector[i]!, 0) / group.length)
}

function distance(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0)
}

/**
 * The `topk` items by a search from the root down: of the children of the best nodes of a layer the best `topk` go on. `score` says how likely it is, for each node, that the
 * user likes something below it.
 */
export async function beamSearch(
  { layers, itemOf }: Tree,
  score: (nodes: readonly number[]) => Promise<ArrayLike<number>>,
  topk: number,
): Promise<{ item: string; score: number }[]> {
  const isThere = layers.map((layer) => new Set(layer))
  const first = layers.findIndex((layer) => layer.length > topk)
  let depth = first < 0 ? layers.length - 1 : first // smaller layers leave nothing out
  let nodes: readonly number[] = layers[depth]!
  while (true) {
    const scores = await score(nodes)
    const best = nodes
      .map((node, i) => ({ node, score: scores[i]! }))
      .sort((a, b) => b.score - a.score)
      .slice(0, topk)
    if (++depth === layers.length) return best.map(({ node, score }) => ({ item: itemOf.get(node)!, score }))
    const children = best.flatMap(({ node }) => [BRANCH * node + 1, BRANCH * node + 2])
    nodes = children.filter((code) => isThere[depth]!.has(code))
  }
}
