/**
 * @file From a MovieLens folder to what the demo reads:  node data/preprocess.mjs FOLDER
 *
 * FOLDER holds MovieLens 1M (users.dat, movies.dat, ratings.dat) or 100k (u.user, u.item, u.data). Written into data/:
 * meta.json, the features of config.json of every movie and user; ratings.dat.train-NN and ratings.dat.test, the ratings in a
 * random order that is always the same; train.list and test.list.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const files = { large: ['users.dat', 'movies.dat', 'ratings.dat'], small: ['u.user', 'u.item', 'u.data'] }
const kind = Object.keys(files).find((name) => files[name].every((file) => existsSync(join(folder ?? '', file))))
if (!folder || !kind) {
  console.error(
    'usage: node data/preprocess.mjs FOLDER, which holds MovieLens 1M (*.dat) or 100k (u.data, u.item, u.user)',
  )
  process.exit(2)
}
const config = JSON.parse(readFileSync('data/config.json', 'utf8'))
const { users, movies, ratings } = (kind === 'large' ? readLarge : readSmall)()
const meta = { movie: entityOf(movies, config.movie, 'movie_id'), user: entityOf(users, config.user, 'user_id') }
for (const name of readdirSync('data')) if (name.startsWith('ratings.dat.')) rmSync(join('data', name))
writeFileSync('data/meta.json', `${JSON.stringify(meta)}\n`)
const lines = shuffled(ratings.filter(([user, movie]) => meta.user.rows[user] && meta.movie.rows[movie]))
const cut = Math.round(lines.length * (1 - config.test_ratio))
writeList(
  'train',
  parts(lines.slice(0, cut), config.train_files).map((part, i) => [`-${String(i).padStart(2, '0')}`, part]),
)
writeList('test', [['', lines.slice(cut)]])
console.log(`${cut} ratings to train on in ${config.train_files} files, ${lines.length - cut} to test on`)

function readLarge() {
  const rows = (file) => read(file).map((line) => line.split('::'))
  return {
    users: rows('users.dat').map(([id, gender, age, occupation]) => ({ id, gender, age, occupation })),
    movies: rows('movies.dat').map(([id, title, genres]) => ({ id, title: words(title), genres: genres.split('|') })),
    ratings: rows('ratings.dat'),
  }
}

function readSmall() {
  const rows = (file) =>
    read(file)
      .map((line) => line.split(/[|\t]/))
      .filter(([id]) => /^\d+$/.test(id))
  const genresOf = (flags) => flags.flatMap((flag, genre) => (flag === '1' ? [String(genre)] : []))
  return {
    // Ages in the groups that MovieLens 1M has.
    users: rows('u.user').map(([id, age, gender, occupation]) => ({
      id,
      gender,
      age: ageGroup(Number(age)),
      occupation,
    })),
    movies: rows('u.item').map(([id, title, , , , ...flags]) => ({ id, title: words(title), genres: genresOf(flags) })),
    ratings: rows('u.data'),
  }
}

function read(file) {
  return readFileSync(join(folder, file), 'latin1').trimEnd().split(/\r?\n/)
}

function words(title) {
  const found = title
    .toLowerCase()
    .replace(/\(\d{4}\)\s*$/, '')
    .split(/[^\p{L}\p{N}']+/u)
    .filter(Boolean)
  return found.length > 0 ? found : ['?']
}

function ageGroup(age) {
  return String([56, 50, 45, 35, 25, 18].find((from) => age >= from) ?? 1)
}

/** Each feature's values numbered in the order in which they come; rows by id, as lists in the order of the features. */
function entityOf(items, wanted, idName) {
  const dicts = wanted.map(() => new Map())
  const numberOf = (dict, value) => {
    if (!dict.has(value)) dict.set(value, dict.size)
    return dict.get(value)
  }
  const rows = {}
  for (const item of items) {
    rows[item.id] = wanted.map(({ name }, i) => {
      const value = item[name === idName ? 'id' : name]
      return Array.isArray(value) ? value.map((one) => numberOf(dicts[i], one)) : numberOf(dicts[i], value)
    })
  }
  return { features: wanted.map((feature, i) => ({ ...feature, dim: dicts[i].size })), rows }
}

function writeList(name, named) {
  const paths = named.map(([suffix, part]) => {
    const path = `data/ratings.dat.${name}${suffix}`
    writeFileSync(path, part.map((columns) => `${columns.join('::')}\n`).join(''))
    return `./${path}`
  })
  writeFileSync(`data/${name}.list`, `${paths.join('\n')}\n`)
}

function parts(items, count) {
  const at = (i) => Math.round((i * items.length) / count)
  return Array.from({ length: count }, (_, i) => items.slice(at(i), at(i + 1)))
}

/** Fisher and Yates with numbers from a linear congruence. */
function shuffled(items) {
  let state = 20261115
  const below = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
  for (let i = items.length - 1; i > 0; i--) {
    const j = below(i + 1)
    ;[items[i], items[j]] = [items[j], items[i]]
  }
  return items
}
