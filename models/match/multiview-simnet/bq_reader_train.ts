/** @file Reads PaddleRec's BQ files: `0:word` of the query, `1:word` of a title that fits, `2:word` of one that does not; word 0 is padding. */
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    for await (const line of this.lines()) {
      const pairs = line
        .trim()
        .split(/\s+/)
        .map((pair) => pair.split(':'))
      const words = (slot: string) => pairs.flatMap(([name, word]) => (name === slot && word !== '0' ? [word!] : []))
      const [query, title] = [words('0'), words('1')]
      if (query.length === 0 || title.length === 0)
        throw new Error('expected words of a query (0:) and of a title (1:)')
      yield { 0: query, 1: title, 2: words('2') }
    }
  }
}
