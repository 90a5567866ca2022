/**
 * @file MovieLens 100k as what recall and ranking learn from:  node prepare.mjs FROM OUT
 *
 * `recall/`: each film that a user liked, with those liked before; `rank/`: each rating, a click where it is 4 or 5. Of every user the last two
 * ratings are for the test. `items.txt` has a line for each film, `users.json` and `films.json` are what recommend.mjs asks with.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const HISTORY = 20
const [from, out] = process.argv.slice(2)
if (!from || !out) {
  console.error('usage: node prepare.mjs FROM OUT')
  process.exit(2)
}
const lines = (name) => readFileSync(join(from, name), 'latin1').split('\n').filter(Boolean)
// Some copies of the data have bars between the columns of u.data, and a line of names above them.
const rows = (name) =>
  lines(name)
    .map((line) => line.split(line.includes('|') ? '|' : '\t'))
    .filter(([id]) => /^\d+$/.test(id))

const jobs = new Map()
const numberOf = (word) => {
  if (!jobs.has(word)) jobs.set(word, jobs.size + 1)
  return jobs.get(word)
}
const users = new Map(
  rows('u.user').map(([id, age, gender, job]) => [
    id,
    { age: Math.floor(Number(age) / 10), gender: gender === 'F' ? 1 : 2, occupation: numberOf(job) },
  ]),
)
const films = new Map(
  rows('u.item').map(([id, title, , , , ...flags]) => [
    id,
    { title, genre: flags.flatMap((flag, g) => (flag.trim() === '1' ? [g + 1] : [])).slice(0, 5) },
  ]),
)
for (const film of films.values()) if (film.genre.length === 0) film.genre.push(1)

const byUser = new Map([...users.keys()].map((id) => [id, []]))
for (const [user, item, rating, time] of rows('u.data'))
  byUser.get(user).push({ item, liked: Number(rating) >= 4, time: Number(time) })
const counts = new Map()
let total = 0
for (const list of byUser.values()) {
  list.sort((a, b) => a.time - b.time)
  for (const { item, liked } of list.slice(0, -2)) {
    if (!liked) continue
    counts.set(item, (counts.get(item) ?? 0) + 1)
    total++
  }
}

const text = (slots) =>
  Object.entries(slots)
    .flatMap(([slot, values]) => [values].flat().map((value) => `${slot}:${value}`))
    .join(' ')
const itemSlots = (id) => ({ item: id, genre: films.get(id).genre })
const samples = { recall: { train: [], test: [] }, rank: { train: [], test: [] } }
const asked = {}
for (const [user, list] of byUser) {
  const liked = []
  list.forEach(({ item, liked: isLiked }, i) => {
    const part = i >= list.length - 2 ? 'test' : 'train'
    const userSlots = { history: liked.length > 0 ? liked.slice(-HISTORY) : [0], ...users.get(user) }
    const log_share = Math.log((counts.get(item) ?? 1) / total).toFixed(4)
    if (isLiked && liked.length > 0) samples.recall[part].push(text({ ...userSlots, ...itemSlots(item), log_share }))
    samples.rank[part].push(text({ click: isLiked ? 1 : 0, user, ...userSlots, ...itemSlots(item) }))
    if (isLiked) liked.push(item)
  })
  asked[user] = { user, history: liked.length > 0 ? liked.slice(-HISTORY) : [0], ...users.get(user) }
}

// In another order than by user, the same each time.
const mixed = (list) => list.map((line, i) => [Math.imul(i + 1, 2654435761) >>> 0, line]).sort(([a], [b]) => a - b)
for (const [task, parts] of Object.entries(samples))
  for (const [part, list] of Object.entries(parts)) {
    mkdirSync(join(out, task, part), { recursive: true })
    writeFileSync(
      join(out, task, part, 'part-000'),
      `${mixed(list)
        .map(([, line]) => line)
        .join('\n')}\n`,
    )
  }
writeFileSync(join(out, 'items.txt'), `${[...films.keys()].map((id) => text(itemSlots(id))).join('\n')}\n`)
writeFileSync(join(out, 'users.json'), JSON.stringify(asked))
writeFileSync(join(out, 'films.json'), JSON.stringify(Object.fromEntries(films)))
