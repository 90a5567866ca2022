/**
 * @file MovieLens-100k as models/recall/ncf reads it:  node examples/movielens/leave_one_out.mjs ML-100K-FOLDER OUT
 *
 * Every rating counts as chosen. Each user's last choice is left out for the test, where it stands before 99 items he never chose.
 * To train on, every other choice has 4 items beside it that the user never chose. All draws are the same everywhere.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NEGATIVES = { train: 4, test: 99 }

const [folder, out] = process.argv.slice(2)
if (!folder || !out) {
  console.error('usage: node examples/movielens/leave_one_out.mjs ML-100K-FOLDER OUT')
  process.exit(2)
}
const random = mulberry32(100_000)
const choices = new Map()
for (const [user, item, , time] of table('u.data')) {
  if (!choices.has(user)) choices.set(user, [])
  choices.get(user).push({ item, time })
}
const items = [...new Set([...choices.values()].flatMap((list) => list.map(({ item }) => item)))].sort((a, b) => a - b)
const [train, test] = [[], []]
for (const user of [...choices.keys()].sort((a, b) => a - b)) {
  const own = choices.get(user).sort((a, b) => a.time - b.time || a.item - b.item)
  const chosen = new Set(own.map(({ item }) => item))
  const last = own.pop()
  for (const { item } of own)
    train.push(line(user, item, 1), ...draw(chosen, NEGATIVES.train).map((i) => line(user, i, 0)))
  test.push(line(user, last.item, 1), ...draw(chosen, NEGATIVES.test).map((i) => line(user, i, 0)))
}
write('train', shuffled(train))
write('test', test)
console.log(
  `${train.length} rows in ${join(out, 'train')}, ${test.length} of ${choices.size} users in ${join(out, 'test')}`,
)

/** Rows of numbers divided by tabs or |; a line of names is left out. */
function table(name) {
  const rows = readFileSync(join(folder, name), 'latin1').trimEnd().split(/\r?\n/)
  return rows.map((row) => row.split(/[|\t]/).map(Number)).filter(([id]) => Number.isInteger(id))
}

/** So many different items that are not among the chosen. */
function draw(chosen, count) {
  const drawn = new Set()
  while (drawn.size < count) {
    const item = items[below(items.length)]
    if (!chosen.has(item)) drawn.add(item)
  }
  return [...drawn]
}

function line(user, item, label) {
  return `user_input:${user} item_input:${item} label:${label}`
}

function shuffled(rows) {
  for (let i = rows.length - 1; i > 0; i--) {
    const j = below(i + 1)
    ;[rows[i], rows[j]] = [rows[j], rows[i]]
  }
  return rows
}

function write(part, rows) {
  mkdirSync(join(out, part), { recursive: true })
  writeFileSync(join(out, part, 'part-000'), `${rows.join('\n')}\n`)
}

function below(n) {
  return Math.floor(random() * n)
}

function mulberry32(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
