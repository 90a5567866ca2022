/**
 * @file A folder like MovieLens 1M with made-up people and films:  node data/make_sample.mjs FOLDER
 *
 * The files that lie in data/ are what `sh preprocess.sh FOLDER` makes of it. Whether somebody likes a film depends on its genres and
 * on how good it is, so that there is something to learn.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [USERS, MOVIES, RATINGS_EACH] = [150, 200, 32]
const GENRES = ['Action', 'Comedy', 'Drama', 'Horror', 'Romance', 'Sci-Fi']
const WORDS =
  'the a of night day love last first king ship river stone house dream fire winter road star city man'.split(' ')
const AGES = [1, 18, 25, 35, 45, 50, 56]

const [folder] = process.argv.slice(2)
if (!folder) {
  console.error('usage: node data/make_sample.mjs FOLDER')
  process.exit(2)
}
let state = 7
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}
const pick = (list) => list[Math.floor(random() * list.length)]
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i + 1))

const users = many(USERS, (id) => ({
  id,
  likes: GENRES.map(() => 2 * random() - 1),
  gender: pick(['F', 'M']),
  age: pick(AGES),
}))
const movies = many(MOVIES, (id) => ({
  id,
  good: 2 * random() - 1,
  genres: [...new Set([pick(GENRES), pick(GENRES)])],
}))
const ratings = users.flatMap((user) => many(RATINGS_EACH, () => rate(user, pick(movies))))
mkdirSync(folder, { recursive: true })
write(
  'users.dat',
  users.map(({ id, gender, age }) => [id, gender, age, id % 21, '00000']),
)
write(
  'movies.dat',
  movies.map(({ id, genres }) => [id, `${many(3, () => pick(WORDS)).join(' ')} (1999)`, genres.join('|')]),
)
write('ratings.dat', ratings)

function rate(user, { id, good, genres }) {
  const liked = genres.reduce((sum, genre) => sum + user.likes[GENRES.indexOf(genre)], 0) / genres.length
  const score = 3 + 1.5 * liked + good + random() - 0.5
  return [user.id, id, Math.min(5, Math.max(1, Math.round(score))), 978300760]
}

function write(name, rows) {
  writeFileSync(join(folder, name), rows.map((row) => `${row.join('::')}\n`).join(''))
}
