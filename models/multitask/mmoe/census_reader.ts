/** @file Reads the lines of PaddleRec's census data: marital label, income label, then the features, between commas. */
import { readFileSync } from 'node:fs'
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  *[Symbol.iterator](): Generator<Sample> {
    for (const file of this.fileList)
      for (const line of readFileSync(file, 'utf8').split('\n')) {
        if (line.trim() === '') continue
        const [marital, income, ...input] = line.split(',').map(Number)
        yield { input, label_income: income!, label_marital: marital! }
      }
  }
}
