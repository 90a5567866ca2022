/** @file Reads PaddleRec's BQ test lines: query and document alone; the documents to compare with are empty. */
import { BaseRecDataset, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly neg_num?: number }
}

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { neg_num = 1 } = this.config.hyper_parameters
    for await (const line of this.lines()) {
      const [query, doc_pos] = line.split('\t').map((values) => values.split(',').map(Number))
      const empty = new Array<number>(query!.length).fill(0)
      const others = Array.from({ length: neg_num }, (_, i) => [`doc_neg_${i}`, empty])
      yield { query: query!, doc_pos: doc_pos!, ...Object.fromEntries(others) }
    }
  }
}
