/** @file Reads the lines of PaddleRec's BQ data: query, fitting document, others; tabs between them, commas between values. */
import { readFileSync } from 'node:fs'
import { BaseRecDataset, type Sample } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  *[Symbol.iterator](): Generator<Sample> {
    for (const file of this.fileList)
      for (const line of readFileSync(file, 'utf8').split('\n')) {
        if (line.trim() === '') continue
        const [query, fitting, ...others] = line.split('\t').map((values) => values.split(',').map(Number))
        const negatives = others.map((values, i) => [`doc_neg_${i}`, values])
        yield { query: query!, doc_pos: fitting!, ...Object.fromEntries(negatives) }
      }
  }
}
