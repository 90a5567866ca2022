/**
 * @file The nearest words of each word, by the angle between vectors:
 * node nearest.mjs vectors.jsonl [word_id_dict.txt]. Line n of the vectors, as `oarfish predict --json` prints them, is word n.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [
  vectorsFile,
  dictionary = fileURLToPath(new URL('../../models/recall/word2vec/data/dict/word_id_dict.txt', import.meta.url)),
] = process.argv.slice(2)
const lines = (file) => readFileSync(file, 'utf8').trim().split('\n')
const names = new Map(lines(dictionary).map((line) => line.split(' ').toReversed()))
const vectors = lines(vectorsFile).map((line) => unit(JSON.parse(line).outputs.vector))

for (const [word, vector] of vectors.entries()) {
  const others = vectors
    .map((other, id) => ({ id, cosine: vector.reduce((sum, value, i) => sum + value * other[i], 0) }))
    .filter(({ id }) => id !== word)
    .sort((a, b) => b.cosine - a.cosine)
    .slice(0, 4)
  const shown = others.map(({ id, cosine }) => `${names.get(String(id))} ${cosine.toFixed(2)}`)
  console.log(`${names.get(String(word))}: ${shown.join(', ')}`)
}

function unit(vector) {
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => value / length)
}
