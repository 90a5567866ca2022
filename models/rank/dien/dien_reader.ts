/** @file Reads the lines of PaddleRec's Amazon data (items; categories; item; category; label) and adds, for each item of the history, one that others took. */
import { BaseRecDataset, createRng, type Sample } from 'oarfish'

/** Items of earlier lines that are drawn from. */
const POOL = 10_000

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const random = createRng(7n)
    const pool: (readonly [string, string])[] = []
    for await (const line of this.lines()) {
      const [items, categories, item, category, label] = line.trim().split(';')
      if (label === undefined) continue
      const taken = items!.trim().split(/\s+/)
      const kinds = categories!.trim().split(/\s+/)
      const own = taken.map((each, i) => [each, kinds[i]!] as const)
      const others = own.map((pair) => (pool.length > 0 ? pool[random.below(pool.length)]! : pair))
      for (const pair of own) {
        if (pool.length < POOL) pool.push(pair)
        else pool[random.below(POOL)] = pair
      }
      yield {
        hist_item_seq: taken,
        hist_cat_seq: kinds,
        neg_hist_item_seq: others.map(([each]) => each),
        neg_hist_cat_seq: others.map(([, kind]) => kind),
        target_item: item!,
        target_cat: category!,
        label: Number(label),
      }
    }
  }
}
