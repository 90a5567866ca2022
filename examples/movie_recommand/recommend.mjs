/** @file Films for a user, by two requests:  node recommend.mjs http://127.0.0.1:8080 prepared USER */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const [url, prepared, user] = process.argv.slice(2)
const read = (name) => JSON.parse(readFileSync(join(prepared, name), 'utf8'))
const films = read('films.json')
const own = read('users.json')[user]
if (!own) {
  console.error(`there is no user ${user} in ${prepared}/users.json`)
  process.exit(2)
}

async function post(path, body) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${path}: ${answer.error.message}`)
  return answer
}

// Recall: of all films the fifty that lie nearest, without those that the user has liked already.
const { ids } = await post('/recall', { instances: [own], k: 50, exclude: true })
// Rank: how likely the user is to like each of them.
const instances = ids[0].map((id) => ({ ...own, item: id, genre: films[id].genre }))
const { scores } = await post('/predict', { instances })
const best = ids[0].map((id, i) => ({ id, score: scores[i] })).sort((a, b) => b.score - a.score)
for (const { id, score } of best.slice(0, 10)) console.log(`${score.toFixed(3)}  ${id.padStart(4)}  ${films[id].title}`)
