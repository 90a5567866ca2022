/** @file Reads sentences of word numbers: each word with each near it, and words drawn by how frequent they are. */
import { BaseRecDataset, createRng, hashText, type Rng, readLines, type Sample } from 'oarfish'

interface Config {
  readonly runner: { readonly custom: { readonly word_count_dict_path?: string } }
  readonly hyper_parameters: {
    readonly window_size?: number
    readonly neg_num?: number
    readonly with_shuffle_batch?: boolean
  }
}

/** Frequent words are drawn less often than they occur. */
const POWER = 0.75

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

/** Draws word numbers: those of the lines of the dictionary (beside this file), in proportion to count^0.75. */
async function wordSampler(path: string | undefined): Promise<(rng: Rng) => number> {
  if (path === undefined) throw new Error('runner.word_count_dict_path is not set: a file of lines "word count"')
  const sums: number[] = []
  for await (const line of readLines(new URL(path, import.meta.url)))
    sums.push((sums.at(-1) ?? 0) + Number(line.split(/\s+/)[1]) ** POWER)
  return (rng) => {
    const target = rng.uniform() * sums.at(-1)!
    let [low, high] = [0, sums.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! > target) high = middle
      else low = middle + 1
    }
    return low
  }
}
