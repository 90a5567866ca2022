/**
 * @file Reads sessions, one a line: item numbers from 1 on, in the order of the clicks. Every item after the first is one to be guessed from those before it.
 * PaddleRec's lines, `items with commas, a tab, the item that came next`, are one sample each.
 */
import { BaseRecDataset, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly maxlen?: number; readonly sparse_feature_number?: number }
}

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    for await (const line of this.lines()) {
      const text = line.trim()
      const items = text.split(/[\s,]+/).map((item) => this.#known(item))
      const first = text.includes('\t') ? items.length - 1 : 1
      for (let at = first; at < items.length; at++) yield this.#sample(items.slice(0, at), items[at]!)
    }
  }

  #sample(before: readonly number[], label: number): Sample {
    const { maxlen = 50 } = this.config.hyper_parameters
    const session = this.latest(before, maxlen)
    return { session: [...session, ...new Array<number>(maxlen - session.length).fill(0)], label }
  }

  #known(text: string): number {
    const { sparse_feature_number: count = 43_098 } = this.config.hyper_parameters
    const item = Number(text)
    if (Number.isInteger(item) && item >= 1 && item < count) return item
    throw new Error(`item ${text} is not from 1 to below hyper_parameters.sparse_feature_number, ${count}`)
  }
}
