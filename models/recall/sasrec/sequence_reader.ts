/**
 * @file Reads histories, one a line: item numbers from 1 on, in the order of time. The last item is left for the test and the one before it for
 * validation, as SASRec's authors do: training sees the others, and what is evaluated is the last, beside items drawn at random.
 */
import { BaseRecDataset, createRng, hashText, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly maxlen?: number; readonly item_num?: number; readonly neg_num?: number }
}

/** To evaluate, config.yaml names sequence_infer_reader.ts, which sets this. */
export class RecDataset extends BaseRecDataset<Config> {
  protected readonly evaluates: boolean = false

  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { maxlen = 50, item_num = 23_715, neg_num = 100 } = this.config.hyper_parameters
    for await (const line of this.lines()) {
      const items = line.trim().split(/\s+/).map(Number)
      const stranger = items.find((item) => !(Number.isInteger(item) && item >= 1 && item <= item_num))
      if (stranger !== undefined)
        throw new Error(`item ${stranger} is not between 1 and hyper_parameters.item_num, ${item_num}`)
      const seen = this.evaluates ? items : items.slice(0, -2)
      if (seen.length < 2) continue
      const history = seen.slice(0, -1).slice(-maxlen)
      const known = new Set(items)
      const random = createRng(hashText(line)) // the same others for a history, in every run
      const other = Array.from({ length: this.evaluates ? neg_num : history.length }, () => {
        let item = 1 + random.below(item_num)
        while (known.has(item) && known.size < item_num) item = 1 + random.below(item_num)
        return item
      })
      yield { history, next: seen.slice(1).slice(-maxlen), other }
    }
  }
}
