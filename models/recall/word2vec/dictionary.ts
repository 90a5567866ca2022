/** @file The two dictionaries: how often each word occurs, and its number. Paths are relative to this folder. */
import { type Rng, readLines } from 'oarfish'

/** Frequent words are drawn less often than they occur. */
const POWER = 0.75

/** Draws word numbers: those of the lines of word_count_dict_path, in proportion to count^0.75. */
export async function wordSampler(path: string | undefined): Promise<(rng: Rng) => number> {
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

/** Word numbers by word, from word_id_dict_path. */
export async function wordNumbers(path: string | undefined): Promise<ReadonlyMap<string, number>> {
  if (path === undefined) throw new Error('runner.word_id_dict_path is not set: a file of lines "word number"')
  const numbers = new Map<string, number>()
  for await (const line of readLines(new URL(path, import.meta.url))) {
    const [word, number] = line.split(/\s+/)
    numbers.set(word!, Number(number))
  }
  return numbers
}
