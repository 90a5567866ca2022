/**
 * @file HR@10 and NDCG@10 of scores, one a line, for rows in groups of 100 whose first is the item that was chosen:
 *
 *   oarfish predict OUT/test/part-000 --model DIR | node examples/movielens/hit_ratio.mjs
 */
import { readFileSync } from 'node:fs'

const [GROUP, TOP] = [100, 10]

const scores = readFileSync(0, 'utf8').trim().split('\n').map(Number)
if (scores.length % GROUP !== 0 || scores.some(Number.isNaN)) {
  console.error(`${scores.length} lines; expected numbers in groups of ${GROUP}`)
  process.exit(2)
}
let [hits, gain] = [0, 0]
const groups = scores.length / GROUP
for (let group = 0; group < groups; group++) {
  const [own, ...others] = scores.slice(group * GROUP, (group + 1) * GROUP)
  // A tie counts as half above: a model that says the same of all is not rewarded.
  const place = others.filter((score) => score > own).length + others.filter((score) => score === own).length / 2
  if (place >= TOP) continue
  hits++
  gain += 1 / Math.log2(place + 2)
}
console.log(`users: ${groups}  HR@${TOP}: ${(hits / groups).toFixed(4)}  NDCG@${TOP}: ${(gain / groups).toFixed(4)}`)
