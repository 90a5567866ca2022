/**
 * @file How many analogies word vectors answer: a is to b as c to d, where d should be nearest to b - a + c.
 *
 *   node analogies.mjs vectors.jsonl questions.txt [word_id_dict.txt]
 *
 * Line n of the vectors, as `oarfish predict --json` prints them, is word n. Questions with a word that has no number are left out.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DICTIONARY = new URL('../../models/recall/word2vec/data/dict/word_id_dict.txt', import.meta.url)
const [vectorsFile, questionsFile, dictionary = fileURLToPath(DICTIONARY)] = process.argv.slice(2)
const lines = (file) => readFileSync(file, 'utf8').trim().split('\n')
const numbers = new Map(lines(dictionary).map((line) => line.split(' ')))
const vectors = lines(vectorsFile).map((line) => unit(JSON.parse(line).outputs.vector))

const questions = lines(questionsFile)
  .filter((line) => !line.startsWith(':'))
  .map((line) =>
    line
      .toLowerCase()
      .trim()
      .split(/\s+/)
      .map((word) => numbers.get(word)),
  )
const known = questions.filter((words) => words.every((word) => word !== undefined))
const right = known.map((words) => words.map(Number)).filter(([a, b, c, d]) => nearest(a, b, c) === d)
console.log(`questions: ${questions.length}  known: ${known.length}  right: ${right.length}`)

/** The word nearest to b - a + c, none of the three. */
function nearest(a, b, c) {
  const target = vectors[b].map((value, i) => value - vectors[a][i] + vectors[c][i])
  let [best, highest] = [-1, Number.NEGATIVE_INFINITY]
  for (const [word, vector] of vectors.entries()) {
    if (word === a || word === b || word === c) continue
    const score = vector.reduce((sum, value, i) => sum + value * target[i], 0)
    if (score > highest) [best, highest] = [word, score]
  }
  return best
}

function unit(vector) {
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => value / length)
}
