/** @file Reads the lines of PaddleRec's MovieLens data: user,item,label. */
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    for await (const line of this.lines()) {
      const [user, item, label] = line.trim().split(',')
      yield { user_input: user!, item_input: item!, label: Number(label) }
    }
  }
}
