/** @file Reads the lines of PaddleRec's Amazon data: history of items; of their categories; item; category; label. */
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    for await (const line of this.lines()) {
      const [items, categories, item, category, label] = line.trim().split(';')
      if (label === undefined) continue
      yield {
        hist_item_seq: items!.trim().split(/\s+/),
        hist_cat_seq: categories!.trim().split(/\s+/),
        target_item: item!,
        target_cat: category!,
        label: Number(label),
      }
    }
  }
}
