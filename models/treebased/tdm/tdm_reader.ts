/**
 * @file Reads histories, one a line: items in the order of time, the last one being what was taken. In each layer of the tree the node above it is one to say yes to, beside
 * some drawn ones of the same layer to say no to.
 */
import { resolve } from 'node:path'
import { BaseRecDataset, createRng, hashText, type Sample } from 'oarfish'
import { pathOf, readTree } from './tree.ts'

interface Config {
  readonly hyper_parameters: {
    readonly tree_path?: string
    readonly item_nums?: number
    readonly start_sample_layer?: number
    readonly tdm_layer_counts?: readonly number[]
  }
}

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { tree_path = 'data/tree.txt', item_nums = 69, start_sample_layer = 1 } = this.config.hyper_parameters
    const { tdm_layer_counts: counts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] } = this.config.hyper_parameters
    const { leafOf, layers } = await readTree(resolve(import.meta.dirname, tree_path))
    for await (const line of this.lines()) {
      const leaves = line
        .trim()
        .split(/\s+/)
        .map((item) => leafOf.get(item) ?? unknown(item, tree_path))
      if (leaves.length < 2) continue
      const user = this.latest(leaves.slice(0, -1), item_nums)
      const random = createRng(hashText(line) ^ BigInt(this.pass.seed)) // others anew in each epoch
      for (const [i, node] of pathOf(leaves.at(-1)!).entries()) {
        const layer = layers[i + 1]!
        if (i + 1 < start_sample_layer) continue
        yield { user, unit_id: node, label: 1 }
        const others = Math.min(counts[Math.min(i + 1, counts.length - 1)]!, layer.length - 1)
        for (let drawn = 0; drawn < others; drawn++) {
          let other = node
          while (other === node) other = layer[random.below(layer.length)]!
          yield { user, unit_id: other, label: 0 }
        }
      }
    }
  }
}

function unknown(item: string, path: string): never {
  throw new Error(`item ${item} is not in the tree of ${path}: build it of all items (oarfish exec tdm.ts build)`)
}
