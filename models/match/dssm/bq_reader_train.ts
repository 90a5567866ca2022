/** @file Reads the lines of PaddleRec's BQ data: query, fitting document, others; tabs between them, commas between values. */
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    for await (const line of this.lines()) {
      const [query, fitting, ...others] = line.split('\t').map((values) => values.split(',').map(Number))
      const negatives = others.map((values, i) => [`doc_neg_${i}`, values])
      yield { query: query!, doc_pos: fitting!, ...Object.fromEntries(negatives) }
    }
  }
}
