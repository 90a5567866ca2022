/** @file Reads the lines of PaddleRec's Amazon data: history of items; of their categories; item; category; label. */
import { readFileSync } from 'node:fs'
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  *[Symbol.iterator](): Generator<Sample> {
    for (const file of this.fileList)
      for (const line of readFileSync(file, 'utf8').split('\n')) {
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
