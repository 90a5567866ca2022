/** @file Reads the lines of PaddleRec's MovieLens data: user,item,label. */
import { readFileSync } from 'node:fs'
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  *[Symbol.iterator](): Generator<Sample> {
    for (const file of this.fileList)
      for (const line of readFileSync(file, 'utf8').split('\n')) {
        if (line.trim() === '') continue
        const [user, item, label] = line.trim().split(',')
        yield { user_input: user!, item_input: item!, label: Number(label) }
      }
  }
}
