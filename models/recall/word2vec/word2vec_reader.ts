/** @file Reads sentences of word numbers: each word with each near it, and words drawn by how frequent they are. */
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BaseRecDataset, createRng, hashText, type Rng, type Sample } from 'oarfish'

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
  *[Symbol.iterator](): Generator<Sample> {
    const { window_size = 5, neg_num = 5, with_shuffle_batch = false } = this.config.hyper_parameters
    const draw = with_shuffle_batch ? undefined : wordSampler(this.config.runner.custom.word_count_dict_path)
    for (const file of this.fileList) {
      const rng = createRng(hashText(basename(file))) // the same draws at every reading
      for (const line of readFileSync(file, 'utf8').split('\n')) {
        const words = line.trim() === '' ? [] : line.trim().split(/\s+/)
        for (const [input_word, true_label] of pairs(words, window_size, rng)) {
          const negatives = draw && { neg_label: Array.from({ length: neg_num }, () => draw(rng)) }
          yield { input_word, true_label, ...negatives }
        }
      }
    }
  }
}

/** Each word with those at most 1 to `window` places away; how far is drawn anew for each. */
function* pairs(words: readonly string[], window: number, rng: Rng): Generator<readonly [string, string]> {
  for (const [i, word] of words.entries()) {
    const reach = 1 + rng.below(window)
    for (let j = Math.max(0, i - reach); j <= Math.min(words.length - 1, i + reach); j++)
      if (j !== i) yield [word, words[j]!]
  }
}

/** Draws word numbers: those of the lines of the dictionary, in proportion to count^0.75. */
function wordSampler(path: string | undefined): (rng: Rng) => number {
  if (path === undefined) throw new Error('runner.word_count_dict_path is not set: a file with "word count" lines')
  const beside = fileURLToPath(new URL(path, import.meta.url))
  const lines = readFileSync(existsSync(beside) ? beside : path, 'utf8')
    .trim()
    .split('\n')
  let total = 0
  const sums = lines.map((line) => (total += Number(line.trim().split(/\s+/)[1]) ** POWER))
  return (rng) => {
    const target = rng.uniform() * total
    let [low, high] = [0, sums.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! > target) high = middle
      else low = middle + 1
    }
    return low
  }
}
