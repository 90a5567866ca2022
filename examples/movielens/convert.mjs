/**
 * @file MovieLens-100k as slot text:  node examples/movielens/convert.mjs ML-100K-FOLDER OUT
 *
 * A rating of 4 or 5 counts as a click. Rows are put in a fixed random order; nine tenths go to OUT/train, the rest to OUT/test.
 * Slots: 1 user, 2 item, 3 age group, 4 gender, 5 occupation, 6 genres (any number), 7 years of the release in fives;
 * dense_feature: age and release year, scaled to about 0 to 1.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CLICK_RATING = 4
const TEST_SHARE = 0.1
const FIRST_YEAR = 1920
const FIRST_GENRE_COLUMN = 5

const [folder, out] = process.argv.slice(2)
if (!folder || !out) {
  console.error('usage: node examples/movielens/convert.mjs ML-100K-FOLDER OUT')
  process.exit(2)
}
const users = new Map(table('u.user').map(([id, age, gender, occupation]) => [id, { age: +age, gender, occupation }]))
const items = new Map(table('u.item').map((columns) => [columns[0], itemOf(columns)]))
const occupations = [...new Set([...users.values()].map(({ occupation }) => occupation))].sort()
const lines = shuffled(table('u.data')).map(([user, item, rating]) => lineOf(user, item, +rating))
const cut = Math.round(lines.length * (1 - TEST_SHARE))
write('train', lines.slice(0, cut))
write('test', lines.slice(cut))
console.log(`${cut} rows in ${join(out, 'train')}, ${lines.length - cut} in ${join(out, 'test')}`)

/** Rows of a file whose columns are divided by | or tabs, with or without a line of names. */
function table(name) {
  const rows = readFileSync(join(folder, name), 'latin1').trimEnd().split(/\r?\n/)
  return rows.map((row) => row.split(/[|\t]/)).filter(([id]) => /^\d+$/.test(id))
}

function itemOf(columns) {
  const year = Number(columns[2].slice(-4)) || 1995 // a few have no date
  const genres = columns.slice(FIRST_GENRE_COLUMN).flatMap((flag, genre) => (flag === '1' ? [genre] : []))
  return { year, genres }
}

function lineOf(user, item, rating) {
  const { age, gender, occupation } = users.get(user)
  const { year, genres } = items.get(item)
  // All slots share a table, so every slot has signs of its own.
  const sign = (slot, id) => `${slot}:${slot * 1_000_000 + id}`
  return [
    `click:${rating >= CLICK_RATING ? 1 : 0}`,
    `dense_feature:${age / 100}`,
    `dense_feature:${(year - FIRST_YEAR) / 80}`,
    sign(1, +user),
    sign(2, +item),
    sign(3, Math.floor(age / 5)),
    sign(4, gender === 'F' ? 1 : 0),
    sign(5, occupations.indexOf(occupation)),
    ...genres.map((genre) => sign(6, genre)),
    sign(7, Math.floor((year - FIRST_YEAR) / 5)),
  ].join(' ')
}

/** Fisher-Yates with a generator whose state is the seed: the same order everywhere. */
function shuffled(rows) {
  let state = 100_000
  const below = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
  const order = [...rows]
  for (let i = order.length - 1; i > 0; i--) {
    const j = below(i + 1)
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}

function write(part, rows) {
  mkdirSync(join(out, part), { recursive: true })
  writeFileSync(join(out, part, 'part-000'), `${rows.join('\n')}\n`)
}
