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
  'rank/autoint': fields,
  'rank/bst': visitors,
  'rank/dien': drifters,
  'recall/sasrec': histories,
  'recall/mind': collectors,
  'recall/youtube_dnn': viewers,
  'recall/two_tower': collections,
  'match/multiview-simnet': titles,
  'rank/dmr': passersby,
  'rank/naml': readers,
  'treebased/tdm': gatherers,
  'recall/tisas': hurried,
  'recall/sr_gnn': rounds,
  'contentunderstanding/textcnn': reviews,
  'contentunderstanding/tagspace': news,
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

/** Collectors of one of ten kinds of things, 20 each, the first of a kind being the most wanted: what they took, and one more with the logarithm of its share. */
function collections(random) {
  const weights = Array.from({ length: 20 }, (_, i) => 1 / (i + 1))
  const total = weights.reduce((sum, weight) => sum + weight)
  const thing = (kind) => {
    let [rest, place] = [random() * total, 0]
    while (rest > weights[place] && place < 19) rest -= weights[place++]
    return { id: 1 + kind * 20 + place, share: weights[place] / total / 10 }
  }
  return split([2000, 400], () => {
    const kind = below(random, 10)
    const history = Array.from({ length: 1 + below(random, 8) }, () => `history:${thing(kind).id}`)
    const { id, share } = thing(kind)
    return `${history.join(' ')} item:${id} log_share:${Math.log(share).toFixed(4)}`
  })
}

/** Reviews of 4 to 20 words among 300: some words praise, some blame, and a `not` (word 1) before them turns them round. */
function reviews(random) {
  const kind = (word) => (word < 10 ? 0 : word < 60 ? 1 : word < 110 ? -1 : 0)
  return split([1500, 300], () => {
    const words = Array.from({ length: 4 + below(random, 17) }, () => (random() < 0.15 ? 1 : 2 + below(random, 298)))
    const score = words.reduce((sum, word, i) => sum + (words[i - 1] === 1 ? -1 : 1) * kind(word), 0)
    return `${words.map((word) => `words:${word}`).join(' ')} label:${chance(random, 2 * score)}`
  })
}

/** News of 5 to 15 words about one of 8 subjects with 20 words each, among 60 words that stand everywhere; 3 other tags. */
function news(random) {
  return split([1500, 300], () => {
    const tag = below(random, 8)
    const word = () => (random() < 0.4 ? 61 + tag * 20 + below(random, 20) : 1 + below(random, 60))
    const text = Array.from({ length: 5 + below(random, 11) }, () => `text:${word()}`)
    const others = [1, 3, 6].map((step) => `neg_tag:${1 + ((tag + step) % 8)}`)
    return `${text.join(' ')} pos_tag:${1 + tag} ${others.join(' ')}`
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

/** Impressions with 12 fields of a feature and its value, the first 3 of them numbers; features of two fields act together. */
function fields(random) {
  const vectors = Array.from({ length: 12 * 20 }, () => [normal(random), normal(random)])
  return split([1600, 300], () => {
    const values = Array.from({ length: 12 }, (_, field) => (field < 3 ? Math.round(random() * 100) / 100 : 1))
    const features = Array.from({ length: 12 }, (_, field) => field * 20 + (field < 3 ? 0 : below(random, 20)))
    const dot = (a, b) =>
      vectors[features[a]][0] * vectors[features[b]][0] + vectors[features[a]][1] * vectors[features[b]][1]
    const score = dot(3, 4) + dot(5, 6) + vectors[features[7]][0] + 2 * values[0] - 1
    const pairs = [...features.map((id) => `feat_index:${id + 1}`), ...values.map((value) => `feat_value:${value}`)]
    return `label:${chance(random, 1.5 * score)} ${pairs.join(' ')}`
  })
}

/** Visitors who take what is of the kind they looked at last, the more so the less time has passed since. */
function visitors(random) {
  return split([2000, 400], () => {
    const kinds = [below(random, 10), below(random, 10)]
    const history = Array.from({ length: 1 + below(random, 8) }, () => kinds[below(random, 2)])
    const ages = history.map(() => below(random, 8)).sort((a, b) => b - a)
    const target = below(random, 2) === 0 ? history[below(random, history.length)] : below(random, 10)
    const item = (kind) => 1 + kind * 20 + below(random, 20)
    const nearest = Math.min(...history.map((kind, i) => (kind === target ? ages[i] : 9)))
    return [
      `userid:${1 + below(random, 200)}`,
      ...history.map((kind) => `history:${item(kind)}`),
      ...history.map((kind) => `cate:${1 + kind}`),
      ...ages.map((age) => `position:${1 + age}`),
      `target:${item(target)} target_cate:${1 + target} target_position:0 label:${chance(random, nearest === 9 ? -2 : 2.5 - 0.3 * nearest)}`,
    ].join(' ')
  })
}

/** Shoppers whose interest moves from one kind to the next: they take what is of the kind they came to last. */
function drifters(random) {
  return split([1400, 300], () => {
    let kind = below(random, 10)
    const history = Array.from({ length: 2 + below(random, 9) }, () => {
      if (random() < 0.4) kind = (kind + 1) % 10
      return kind
    })
    const item = (own) => 1 + own * 20 + below(random, 20)
    const others = history.map(() => below(random, 10))
    const target = [kind, (kind + 1) % 10, history[0], below(random, 10)][below(random, 4)]
    const near = target === kind || target === (kind + 1) % 10
    return [
      ...history.map((own) => `hist_item_seq:${item(own)}`),
      ...history.map((own) => `hist_cat_seq:${1 + own}`),
      ...others.map((own) => `neg_hist_item_seq:${item(own)}`),
      ...others.map((own) => `neg_hist_cat_seq:${1 + own}`),
      `target_item:${item(target)} target_cat:${1 + target} label:${chance(random, near ? 2 : -2)}`,
    ].join(' ')
  })
}

/** People who looked at (tag 1) and bought (tag 2) things of 20 categories with 5 brands each; they click on what is of the kind of the last, more so of a brand that they bought. */
function passersby(random) {
  const brand = (kind) => 1 + kind * 5 + below(random, 5)
  return split([1000, 200], () => {
    const kinds = [below(random, 20), below(random, 20)]
    const history = Array.from({ length: 1 + below(random, 10) }, () => {
      const kind = kinds[below(random, 2)]
      return { tag: 1 + below(random, 2), kind, brand: brand(kind) }
    })
    const kind = below(random, 2) === 0 ? history[below(random, history.length)].kind : below(random, 20)
    const own = brand(kind)
    const ago = [...history].reverse().findIndex((past) => past.kind === kind)
    const isKnown = history.some((past) => past.tag === 2 && past.brand === own)
    const score = (ago < 0 ? -2 : 2 - 0.3 * ago) + (isKnown ? 1 : 0)
    const ad = own * 2 + below(random, 2)
    return [
      ...history.map((past) => `btag_his:${past.tag}`),
      ...history.map((past) => `cate_his:${1 + past.kind}`),
      ...history.map((past) => `brand_his:${past.brand}`),
      `cate_id:${1 + kind} brand:${own} mid:${ad} campaign_id:${own} customer:${own} uid:${1 + below(random, 200)}`,
      `cms_segid:${below(random, 9)} cms_group_id:${below(random, 5)} final_gender_code:${1 + below(random, 2)}`,
      `age_level:${below(random, 7)} pvalue_level:${below(random, 4)} shopping_level:${1 + below(random, 3)}`,
      `occupation:${below(random, 2)} new_user_class_level:${below(random, 5)} pid:${1 + below(random, 2)}`,
      ...Array.from({ length: 4 }, () => `neg_cate:${1 + below(random, 20)}`),
      `price:${Math.round(random() * 100) / 100} label:${chance(random, score)}`,
    ].join(' ')
  })
}

/** Queries of 4 to 8 words and titles of 5 to 10 about one of 8 subjects with 10 words each, among 40 words that stand everywhere; padded with 0 as PaddleRec's are. */
function titles(random) {
  const text = (slot, subject, least, most) => {
    const word = () => (random() < 0.5 ? 41 + subject * 10 + below(random, 10) : 1 + below(random, 40))
    const words = Array.from({ length: least + below(random, most - least + 1) }, word)
    return Array.from({ length: most }, (_, i) => `${slot}:${words[i] ?? 0}`).join(' ')
  }
  return split([1500, 300], () => {
    const subject = below(random, 8)
    const other = (subject + 1 + below(random, 7)) % 8
    return [text(0, subject, 4, 8), text(1, subject, 5, 10), text(2, other, 5, 10)].join(' ')
  })
}

/** Ratings over 60 items in a circle, by user: what came after a short pause is followed by the item after it, what came after a long one by that ten on. */
function hurried(random) {
  let user = 0
  return split([600, 150], () => {
    let [item, time, isLong] = [below(random, 60), 1_000_000 + below(random, 1000), false]
    user++
    return Array.from({ length: 6 + below(random, 8) }, () => {
      const line = [user, 1 + item, 1 + below(random, 5), time].join('\t')
      item = random() < 0.9 ? (item + (isLong ? 10 : 1)) % 60 : below(random, 60)
      isLong = random() < 0.4
      time += isLong ? 600 + 60 * below(random, 4) : 60 * (1 + below(random, 3))
      return line
    }).join('\n')
  })
}

/** Sessions over 80 items, numbered from 1, in which people come back: the next item is two on from the last, or the one looked at before it and then three on. */
function rounds(random) {
  return split([900, 200], () => {
    const session = [below(random, 80)]
    const length = 3 + below(random, 7)
    while (session.length < length) {
      const [last, before] = [session.at(-1), session.at(-2)]
      const isBack = session.length > 2 && last === session.at(-3)
      const next = isBack ? last + 3 : random() < 0.4 && before !== undefined ? before : last + 2
      session.push((random() < 0.9 ? next : below(random, 80)) % 80)
    }
    return session.map((item) => 1 + item).join(' ')
  })
}

/** 240 news of 8 categories with 2 sub-categories and 12 words each, among 40 words that stand everywhere; readers of one or two categories, of a sub-category most of all. */
function readers(random) {
  const words = (count, kind) =>
    Array.from({ length: count }, () => (random() < 0.5 ? 41 + kind * 12 + below(random, 12) : 1 + below(random, 40)))
  const articles = Array.from({ length: 240 }, (_, i) => {
    const [kind, part] = [i % 8, Math.floor(i / 8) % 2]
    const [title, content] = [words(2 + below(random, 4), kind), words(4 + below(random, 7), kind)]
    return [`n${i}`, 1 + kind, 1 + 2 * kind + part, title.join(' '), content.join(' ')].join('\t')
  })
  const article = (kind) => `n${kind + 8 * below(random, 30)}`
  const files = split([900, 200], () => {
    const kinds = [below(random, 8), below(random, 8)]
    const own = () => article(kinds[below(random, 2)])
    const history = Array.from({ length: 1 + below(random, 5) }, own)
    const shown = Array.from({ length: 4 }, () => article(below(random, 8)))
    return [history.join(' '), random() < 0.85 ? own() : article(below(random, 8)), shown.join(' ')].join('\t')
  })
  return { ...files, 'article.txt': articles }
}

/** Histories over 96 items of 8 kinds, in which people keep to one or two kinds; and a tree of the items in the order of their kinds. */
function gatherers(random) {
  const leaves = []
  const place = (first, count, code, depth) => {
    const half = Math.ceil(count / 2)
    if (depth === 7) leaves.push(`i${first} ${code}`)
    else {
      place(first, half, 2 * code + 1, depth + 1)
      if (count > half) place(first + half, count - half, 2 * code + 2, depth + 1)
    }
  }
  place(0, 96, 0, 0)
  const files = split([400, 100], () => {
    const kinds = [below(random, 8), below(random, 8)]
    const item = () => `i${12 * kinds[below(random, 2)] + Math.floor(12 * random() ** 1.5)}`
    return Array.from({ length: 4 + below(random, 6) }, item).join(' ')
  })
  const items = Array.from({ length: 96 }, (_, i) => `i${i} ${Math.floor(i / 12)}`)
  return { ...files, 'items.txt': items, 'tree.txt': leaves }
}

/** Histories over 100 items, numbered from 1: four times of five the next item is one of the two after the last in a circle. */
function histories(random) {
  return split([1500, 300], () => {
    let item = below(random, 100)
    return Array.from({ length: 5 + below(random, 10) }, () => {
      const taken = 1 + item
      item = random() < 0.8 ? (item + 1 + below(random, 2)) % 100 : below(random, 100)
      return taken
    }).join(' ')
  })
}

/** Collectors of two or three kinds among 12, 15 items each: what they take is of one of their kinds. */
function collectors(random) {
  return split([3000, 500], () => {
    const kinds = Array.from({ length: 2 + below(random, 2) }, () => below(random, 12))
    const item = () => 1 + kinds[below(random, kinds.length)] * 15 + below(random, 15)
    const history = Array.from({ length: 4 + below(random, 6) }, () => `hist_item:${item()}`)
    return `${history.join(' ')} target_item:${item()}`
  })
}

/** Viewers of 100 films of 10 kinds who watched one to six of a kind, searched for it or not, and watch one more. */
function viewers(random) {
  return split([3000, 500], () => {
    const kind = below(random, 10)
    const film = () => kind * 10 + Math.floor(10 * random() ** 2)
    const watched = Array.from({ length: 1 + below(random, 6) }, () => `watch:${film()}`)
    const searched = random() < 0.5 ? [`search:${kind}`] : []
    const other = Array.from({ length: 3 }, () => `other_feat:${Math.round(random() * 100) / 100}`)
    return [...watched, ...searched, ...other, `label:${film()}`].join(' ')
  })
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
