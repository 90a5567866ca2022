/** @file Reads sessions, one a line: item numbers in the order of the clicks. What comes next is known of all but the last. */
import { BaseRecDataset, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly max_len?: number; readonly vocab_size?: number }
}

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { max_len = 20, vocab_size = 37_483 } = this.config.hyper_parameters
    for await (const line of this.lines()) {
      const session = this.latest(line.trim().split(/\s+/), max_len + 1)
      if (session.length < 2) continue
      const next = session.slice(1).map(Number)
      const stranger = next.find((item) => !(item < vocab_size))
      if (stranger !== undefined)
        throw new Error(`item ${stranger} is not below hyper_parameters.vocab_size, ${vocab_size}: number items from 0`)
      const padding = new Array<number>(max_len - next.length).fill(0)
      yield { src_wordseq: session.slice(0, -1), dst_wordseq: [...next, ...padding] }
    }
  }
}
