/**
 * @file A folder like MovieLens 100k with made-up people and films:  node make_sample.mjs FOLDER
 *
 * Whether somebody likes a film depends on its genres and on how good it is, so that there is something to learn.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [USERS, FILMS, RATINGS_EACH, GENRES] = [200, 240, 30, 19]
const JOBS = ['artist', 'doctor', 'engineer', 'student', 'writer']
const WORDS = 'Night Day Love King Ship River Stone House Dream Fire Winter Road Star City'.split(' ')

const [folder] = process.argv.slice(2)
if (!folder) {
  console.error('usage: node make_sample.mjs FOLDER')
  process.exit(2)
}
let state = 11
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}
const below = (n) => Math.floor(random() * n)
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i + 1))

const films = many(FILMS, (id) => ({ id, genres: [1 + below(6), 7 + below(12)], quality: random() }))
const users = many(USERS, (id) => ({ id, age: 15 + below(50), gender: 'FM'[below(2)], job: JOBS[below(JOBS.length)] }))
const likes = users.map(({ age, gender }) => [1 + ((age >> 3) % 6), 7 + ((age + (gender === 'F' ? 5 : 0)) % 12)])
const ratings = users.flatMap(({ id }, u) => {
  const wanted = films
    .map((film) => ({ film, pull: film.genres.filter((g) => likes[u].includes(g)).length + film.quality + random() }))
    .sort((a, b) => b.pull - a.pull)
    .slice(0, RATINGS_EACH + 30)
    .sort(() => random() - 0.5)
    .slice(0, RATINGS_EACH)
  return wanted.map(({ film, pull }, i) => [
    id,
    film.id,
    Math.max(1, Math.min(5, Math.round(1.4 * pull + 1))),
    880_000_000 + 1000 * i + id,
  ])
})

const title = ({ id }) => `${WORDS[id % 14]} of the ${WORDS[(id * 5) % 13]} ${id} (${1970 + (id % 29)})`
const flags = ({ genres }) => Array.from({ length: GENRES }, (_, g) => (genres.includes(g) ? 1 : 0)).join('|')
mkdirSync(folder, { recursive: true })
const put = (name, lines) => writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
put(
  'u.data',
  ratings.map((row) => row.join('\t')),
)
put(
  'u.user',
  users.map(({ id, age, gender, job }) => [id, age, gender, job, 10_000 + id].join('|')),
)
put(
  'u.item',
  films.map((film) => `${film.id}|${title(film)}|01-Jan-${1970 + (film.id % 29)}|||${flags(film)}`),
)
