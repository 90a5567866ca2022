/** @file Reads the lines of PaddleRec's census data: marital label, income label, then the features, between commas. */
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    for await (const line of this.lines()) {
      const [marital, income, ...input] = line.split(',').map(Number)
      yield { input, label_income: income!, label_marital: marital! }
    }
  }
}
