/**
 * @file Writes the sample data of the models whose data is not criteo's: made up, from hidden rules that a model can find.
 * `node scripts/model-samples.mjs [folder]`: the folder of the models, models/ unless given. The same rows every time.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MODELS = {
  'multitask/mmoe': census,
  'multitask/esmm': purchases,
  'match/dssm': questions,
  'recall/ncf': tastes,
  'rank/din': shoppers,
  'recall/gru4rec': sessions,
  'recall/word2vec': sentences,
}

const root = process.argv[2] ?? fileURLToPath(new URL('../models', import.meta.url))
for (const [model, make] of Object.entries(MODELS)) {
  const files = make(mulberry32(7))
  for (const [file, lines] of Object.entries(files)) {
    const path = join(root, model, 'data', file)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, `${lines.join('\n')}\n`)
  }
}

/** People with 40 of 499 properties; income and marriage follow from weights that have half in common. */
function census(random) {
  const weights = Array.from({ length: 499 }, () => {
    const common = normal(random)
    return [common + normal(random), common + normal(random)]
  })
  return split([600, 120], () => {
    const has = new Set(Array.from({ length: 40 }, () => below(random, 499)))
    const scores = [0, 1].map((task) => [...has].reduce((sum, i) => sum + weights[i][task], 0) / 4)
    const input = Array.from({ length: 499 }, (_, i) => (has.has(i) ? 1 : 0))
    return `499 ${input.join(' ')} ${scores.map((score) => `1 ${chance(random, score)}`).join(' ')}`
  })
}

/** Impressions with 23 fields; some values make people click, others make those who clicked buy. */
function purchases(random) {
  const effects = Array.from({ length: 23 * 12 }, () => [normal(random), normal(random)])
  return split([1500, 300], () => {
    const values = Array.from({ length: 23 }, () =>
      Array.from({ length: 1 + below(random, 2) }, () => below(random, 12)),
    )
    const score = (task) => values.reduce((sum, list, field) => sum + effects[field * 12 + list[0]][task], 0) / 3
    const click = chance(random, score(0))
    const buy = click === 1 ? chance(random, score(1)) : 0
    const fields = values.flatMap((list, field) => list.map((value) => `field_${field}:${1 + field * 12 + value}`))
    return `${fields.join(' ')} ctr:${click} cvr:${buy}`
  })
}

/** Questions and answers as bags of 120 trigrams: those about one of 10 subjects share 12 trigrams. */
function questions(random) {
  const text = (subject) => {
    const bag = new Array(120).fill(0)
    for (let i = 0; i < 6; i++) bag[subject * 12 + below(random, 12)] = 1
    for (let i = 0; i < 6; i++) bag[below(random, 120)] = 1
    return `120 ${bag.join(' ')}`
  }
  return split([1000, 200], () => {
    const subject = below(random, 10)
    const other = (subject + 1 + below(random, 9)) % 10
    return [subject, subject, other].map(text).join(' ')
  })
}

/** 60 users and 80 items with two hidden values each: a user takes what points where he points. */
function tastes(random) {
  const draw = (count) => Array.from({ length: count }, () => [normal(random), normal(random)])
  const [users, items] = [draw(60), draw(80)]
  return split([4000, 800], () => {
    const [user, item] = [below(random, 60), below(random, 80)]
    const score = 2 * (users[user][0] * items[item][0] + users[user][1] * items[item][1])
    return `user_input:${user} item_input:${item} label:${chance(random, score)}`
  })
}

/** Shoppers with one or two kinds of interest among ten, 20 items each: they take what is of a kind they took before. */
function shoppers(random) {
  return split([2500, 500], () => {
    const kinds = [below(random, 10), below(random, 10)]
    const history = Array.from({ length: 1 + below(random, 12) }, () => kinds[below(random, 2)])
    const target = below(random, 2) === 0 ? history[below(random, history.length)] : below(random, 10)
    const item = (kind) => 1 + kind * 20 + below(random, 20)
    return [
      ...history.map((kind) => `hist_item_seq:${item(kind)}`),
      ...history.map((kind) => `hist_cat_seq:${1 + kind}`),
      `target_item:${item(target)} target_cat:${1 + target} label:${chance(random, history.includes(target) ? 2 : -2)}`,
    ].join(' ')
  })
}

/** Sessions over 100 items: four times of five the next item is one of the two after the last in a circle. */
function sessions(random) {
  return split([3000, 500], () => {
    let item = below(random, 100)
    return Array.from({ length: 2 + below(random, 8) }, () => {
      const shown = item
      item = random() < 0.8 ? (item + 1 + below(random, 2)) % 100 : below(random, 100)
      return shown
    }).join(' ')
  })
}

/** Sentences about one of 20 subjects with 10 words each, among 40 words that stand everywhere. */
function sentences(random) {
  const counts = new Array(240).fill(0)
  const files = split([1200, 150], () => {
    const subject = below(random, 20)
    return Array.from({ length: 6 + below(random, 7) }, () => {
      const word = random() < 0.7 ? 40 + subject * 10 + below(random, 10) : Math.floor(40 * random() ** 2)
      counts[word]++
      return word
    }).join(' ')
  })
  const name = (word) => (word < 40 ? `common${word}` : `subject${Math.floor((word - 40) / 10)}word${(word - 40) % 10}`)
  return {
    ...files,
    'dict/word_count_dict.txt': counts.map((count, word) => `${name(word)} ${count}`),
    'dict/word_id_dict.txt': counts.map((_, word) => `${name(word)} ${word}`),
  }
}

function split([train, test], line) {
  const lines = (count) => Array.from({ length: count }, line)
  return { 'sample_data/train/part-000': lines(train), 'sample_data/test/part-000': lines(test) }
}

/** 1 with the probability sigmoid(score). */
function chance(random, score) {
  return random() < 1 / (1 + Math.exp(-score)) ? 1 : 0
}

function below(random, n) {
  return Math.floor(random() * n)
}

function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
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
