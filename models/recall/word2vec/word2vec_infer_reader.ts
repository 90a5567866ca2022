/**
 * @file Reads analogies, as PaddleRec tests word vectors: `Athens Greece Baghdad Iraq`, headings begin with a colon. Each half is a pair of
 * words that belong together; examples/word2vec/analogies.mjs answers the analogies themselves.
 */
import { BaseRecDataset, createRng, type Sample } from 'oarfish'
import { wordNumbers, wordSampler } from './dictionary.ts'

interface Config {
  readonly runner: { readonly custom: { readonly word_count_dict_path?: string; readonly word_id_dict_path?: string } }
  readonly hyper_parameters: { readonly neg_num?: number; readonly with_shuffle_batch?: boolean }
}

const UNKNOWN = '<UNK>'

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { word_count_dict_path, word_id_dict_path } = this.config.runner.custom
    const { neg_num = 5, with_shuffle_batch = false } = this.config.hyper_parameters
    const numbers = await wordNumbers(word_id_dict_path)
    const draw = with_shuffle_batch ? undefined : await wordSampler(word_count_dict_path)
    const rng = createRng(1n)
    for await (const line of this.lines()) {
      if (line.startsWith(':')) continue
      const words = line.toLowerCase().trim().split(/\s+/)
      const [a, b, c, d] = words.map((word) => numbers.get(word) ?? numbers.get(UNKNOWN) ?? 0)
      for (const [input_word, true_label] of [
        [a!, b!],
        [c!, d!],
      ] as const) {
        const negatives = draw && { neg_label: Array.from({ length: neg_num }, () => draw(rng)) }
        yield { input_word, true_label, ...negatives }
      }
    }
  }
}
