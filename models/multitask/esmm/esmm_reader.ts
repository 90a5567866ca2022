/** @file Reads the lines of PaddleRec's Ali-CCP data: id, click, buy, then field:value pairs, between commas. */
import { BaseRecDataset, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly max_len?: number }
}

/** The data's names of field_0, field_1, ... */
// biome-ignore format: a table reads better in few lines
const FIELDS = [
  '101', '109_14', '110_14', '127_14', '150_14', '121', '122', '124', '125', '126', '127', '128',
  '129', '205', '206', '207', '210', '216', '508', '509', '702', '853', '301',
]

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { max_len = 3 } = this.config.hyper_parameters
    for await (const line of this.lines()) {
      const [, click, buy, ...pairs] = line.trim().split(',')
      const values = new Map<string, string[]>(FIELDS.map((field) => [field, []]))
      for (const pair of pairs) {
        const [field, value] = pair.trim().split(':')
        const list = values.get(field!)
        if (list && list.length < max_len) list.push(value!)
      }
      // A field without values is the id 0.
      const fields = FIELDS.map((field, i) => [`field_${i}`, values.get(field)!.length > 0 ? values.get(field)! : [0]])
      yield { ...Object.fromEntries(fields), ctr: Number(click), cvr: Number(buy) }
    }
  }
}
