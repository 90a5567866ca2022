/** @file Reads PaddleRec's lines `user,item,time`, those of a user together: of each user the items before a drawn one, and that one. */
import { BaseRecDataset, createRng, hashText, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly maxlen?: number }
}

/** A user with fewer items before the drawn one says too little. */
const FEWEST = 4

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    let [user, events]: [string | undefined, [item: string, time: number][]] = [undefined, []]
    for await (const line of this.lines()) {
      const [own, item, time] = line.trim().split(',')
      if (time === undefined) continue
      if (user !== undefined && own !== user) {
        yield* this.#samples(user, events)
        events = []
      }
      user = own!
      events.push([item!, Number(time)])
    }
    if (user !== undefined) yield* this.#samples(user, events)
  }

  *#samples(user: string, events: readonly (readonly [item: string, time: number])[]): Generator<Sample> {
    if (events.length <= FEWEST) return
    const { maxlen = 20 } = this.config.hyper_parameters
    const items = [...events].sort(([, a], [, b]) => a - b).map(([item]) => item)
    const at = FEWEST + createRng(hashText(user)).below(items.length - FEWEST)
    yield { hist_item: this.latest(items.slice(0, at), maxlen), target_item: items[at]! }
  }
}
