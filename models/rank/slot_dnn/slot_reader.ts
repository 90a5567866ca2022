/** @file Reads lines of `feasign:slot` pairs: slot 1 is the click, a slot may stand there several times or not at all. */
import { BaseRecDataset, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly slot_num?: number }
}

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { slot_num = 300 } = this.config.hyper_parameters
    const last = slot_num + 1
    for await (const line of this.lines()) {
      const slots: Record<string, string[]> = {}
      let click: number | undefined
      for (const pair of line.trim().split(/\s+/)) {
        const [sign, slot] = pair.split(':') as [string, string | undefined]
        if (slot === undefined) throw new Error(`"${pair}" is not feasign:slot`)
        if (slot === '1') click = Number(sign)
        // The sign 0 stands for nothing, as in PaddleRec (padding_idx=0).
        else if (sign !== '0' && Number(slot) >= 2 && Number(slot) <= last) {
          const others = slots[slot]
          if (others) others.push(sign)
          else slots[slot] = [sign]
        }
      }
      if (click === undefined) throw new Error('slot 1, which is the click, is missing')
      yield { show: 1, click, ...slots }
    }
  }
}
