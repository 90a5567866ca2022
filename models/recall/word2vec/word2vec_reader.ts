/** @file Reads sentences of word numbers: each word with each near it, and words drawn by how frequent they are. */
import { BaseRecDataset, createRng, hashText, type Rng, type Sample } from 'oarfish'
import { wordSampler } from './dictionary.ts'

interface Config {
  readonly runner: { readonly custom: { readonly word_count_dict_path?: string } }
  readonly hyper_parameters: {
    readonly window_size?: number
    readonly neg_num?: number
    readonly with_shuffle_batch?: boolean
  }
}

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { window_size = 5, neg_num = 5, with_shuffle_batch = false } = this.config.hyper_parameters
    const draw = with_shuffle_batch ? undefined : await wordSampler(this.config.runner.custom.word_count_dict_path)
    const rng = createRng(hashText(this.fileList.map(nameOf).join())) // the same draws at every reading
    for await (const line of this.lines())
      for (const [input_word, true_label] of pairs(line.trim().split(/\s+/), window_size, rng)) {
        const negatives = draw && { neg_label: Array.from({ length: neg_num }, () => draw(rng)) }
        yield { input_word, true_label, ...negatives }
      }
  }
}

const nameOf = (path: string) => path.replace(/.*[/\\]/, '')

/** Each word with those at most 1 to `window` places away; how far is drawn anew for each. */
function* pairs(words: readonly string[], window: number, rng: Rng): Generator<readonly [string, string]> {
  for (const [i, word] of words.entries()) {
    const reach = 1 + rng.below(window)
    for (let j = Math.max(0, i - reach); j <= Math.min(words.length - 1, i + reach); j++)
      if (j !== i) yield [word, words[j]!]
  }
}
