/**
 * @file Reads histories, one a line: item numbers from 1 on, in the order of time. In training some items are hidden, others in each epoch; the last item is left
 * for the test. An evaluation hides the last item alone.
 */
import { BaseRecDataset, createRng, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: {
    readonly max_len?: number
    readonly item_num?: number
    readonly masked_lm_prob?: number
  }
}

/** To evaluate, config.yaml names bert4rec_infer_reader.ts, which sets this. */
export class RecDataset extends BaseRecDataset<Config> {
  protected readonly evaluates: boolean = false

  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { max_len = 50, item_num = 12_101, masked_lm_prob = 0.2 } = this.config.hyper_parameters
    const random = createRng(BigInt(this.pass.seed))
    for await (const line of this.lines()) {
      const items = line.trim().split(/\s+/).map(Number)
      const stranger = items.find((item) => !(Number.isInteger(item) && item >= 1 && item <= item_num))
      if (stranger !== undefined)
        throw new Error(`item ${stranger} is not between 1 and hyper_parameters.item_num, ${item_num}`)
      const seen = this.latest(this.evaluates ? items : items.slice(0, -1), max_len)
      if (seen.length < 2) continue
      const last = seen.length - 1
      const hidden = seen.map((_, i) => (this.evaluates ? i === last : random.uniform() < masked_lm_prob))
      if (!hidden.includes(true)) hidden[random.below(seen.length)] = true
      const truth = seen.map((item, i) => (hidden[i] ? item : 0))
      const padding = new Array<number>(max_len - seen.length).fill(0)
      yield { history: seen.map((item, i) => (hidden[i] ? item_num + 1 : item)), truth: [...truth, ...padding] }
    }
  }
}
