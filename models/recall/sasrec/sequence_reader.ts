/**
 * @file Reads histories, one a line: item numbers from 1 on, in the order of time. The last item is left for the test and the one before it for
 * validation, as SASRec's authors do: training sees the others, and what is evaluated is the last, beside items drawn at random.
 */
import { BaseRecDataset, bucketedByLength, createRng, hashText, type Rng, type Sample } from 'oarfish'

interface Config {
  readonly runner: { readonly train_batch_size?: number }
  readonly hyper_parameters: { readonly maxlen?: number; readonly item_num?: number; readonly neg_num?: number }
}

/** Histories that are in memory at a time, to be given in another order in each epoch. */
const WINDOW = 100_000

/** To evaluate, config.yaml names sequence_infer_reader.ts, which sets this. */
export class RecDataset extends BaseRecDataset<Config> {
  protected readonly evaluates: boolean = false

  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const random = createRng(BigInt(this.pass.seed))
    let window: number[][] = []
    for await (const line of this.lines()) {
      const items = this.#items(line)
      // Others are drawn anew in each epoch of training; an evaluation has the same for a history in every run.
      if (this.evaluates && items.length > 1) yield this.#sample(items, items, createRng(hashText(line)))
      else if (!this.evaluates && items.length > 3) window.push(items)
      if (window.length < WINDOW) continue
      yield* this.#mixed(window, random)
      window = []
    }
    yield* this.#mixed(window, random)
  }

  *#mixed(histories: readonly number[][], random: Rng): Generator<Sample> {
    const { maxlen = 50 } = this.config.hyper_parameters
    const batchSize = this.config.runner.train_batch_size ?? 128
    const lengthOf = (items: number[]) => Math.min(items.length, maxlen)
    for (const items of bucketedByLength(histories, { lengthOf, batchSize, random }))
      yield this.#sample(items, items.slice(0, -2), random)
  }

  #items(line: string): number[] {
    const { item_num = 23_715 } = this.config.hyper_parameters
    const items = line.trim().split(/\s+/).map(Number)
    const stranger = items.find((item) => !(Number.isInteger(item) && item >= 1 && item <= item_num))
    if (stranger === undefined) return items
    throw new Error(`item ${stranger} is not between 1 and hyper_parameters.item_num, ${item_num}`)
  }

  #sample(items: readonly number[], seen: readonly number[], random: Rng): Sample {
    const { maxlen = 50, item_num = 23_715, neg_num = 100 } = this.config.hyper_parameters
    const history = this.latest(seen.slice(0, -1), maxlen)
    // What is left for the test is unknown to training.
    const known = new Set(this.evaluates ? items : seen)
    const other = Array.from({ length: this.evaluates ? neg_num : history.length }, () => {
      let item = 1 + random.below(item_num)
      while (known.has(item) && known.size < item_num) item = 1 + random.below(item_num)
      return item
    })
    return { history, next: seen.slice(1).slice(-maxlen), other }
  }
}
