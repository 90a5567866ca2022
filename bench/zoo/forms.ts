/**
 * @file MovieLens and Amazon games in the forms of models that `oarfish data` does not write for: candidates behind a history, conversions, next items.
 * All is slot text, drawn with a fixed seed, so that a model and its twin read the same rows.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Rows {
  readonly train: readonly string[]
  readonly test: readonly string[]
}

/** Numbers below `bound`, the same in every run. */
function drawing(seed = 1): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

export function mixed<T>(list: T[], below = drawing(7)): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = below(i + 1)
    ;[list[i], list[j]] = [list[j]!, list[i]!]
  }
  return list
}

interface Rating {
  readonly user: number
  readonly item: number
  readonly stars: number
  readonly time: number
}

const table = (folder: string, file: string) =>
  readFileSync(join(folder, file), 'latin1')
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => line.split(/[|\t]/))

function movielens(folder: string) {
  const ratings = table(folder, 'u.data')
    .map((row): Rating => ({ user: +row[0]!, item: +row[1]!, stars: +row[2]!, time: +row[3]! }))
    .sort((a, b) => a.time - b.time || a.user - b.user || a.item - b.item)
  const users = new Map(table(folder, 'u.user').map((row) => [Number(row[0]), row]))
  const genres = new Map(
    table(folder, 'u.item').map((row) => [
      Number(row[0]),
      row.slice(5).flatMap((has, i) => (has.trim() === '1' ? [i] : [])),
    ]),
  )
  return { ratings, users, genreOf: (item: number) => genres.get(item)?.[0] ?? 0, items: 1682 }
}

const slot = (name: string, values: readonly (number | string)[]) => values.map((value) => `${name}:${value}`).join(' ')

/** A click is four stars or five, a purchase is five: 6 fields, one row in ten for the test. */
export function conversions(folder: string): Rows {
  const { ratings, users, genreOf } = movielens(folder)
  const below = drawing()
  const words = new Map<string, number>()
  const id = (word: string) => {
    if (!words.has(word)) words.set(word, words.size + 1)
    return words.get(word)
  }
  const rows = mixed([...ratings]).map(({ user, item, stars }) => {
    const [, age, gender, occupation] = users.get(user)!
    const fields = [
      `u${user}`,
      `i${item}`,
      `a${Math.floor(Number(age) / 10)}`,
      gender!,
      occupation!,
      `g${genreOf(item)}`,
    ]
    return `${fields.map((word, i) => `field_${i}:${id(word)}`).join(' ')} ctr:${stars >= 4 ? 1 : 0} cvr:${stars >= 5 ? 1 : 0}`
  })
  const isTest = rows.map(() => below(10) === 0)
  return { train: rows.filter((_, i) => !isTest[i]), test: rows.filter((_, i) => isTest[i]) }
}

/** The items that each user liked, in the order of time. */
function liked(folder: string) {
  const { ratings, ...rest } = movielens(folder)
  const of = new Map<number, Rating[]>()
  for (const rating of ratings) if (rating.stars >= 4) of.set(rating.user, [...(of.get(rating.user) ?? []), rating])
  return { of, ratings, ...rest }
}

/** Behind the last 20 liked items the one that came next, or another: 30 places of a user, the last 6 of them for the test. */
export function candidates(folder: string): Rows {
  const { of, items, genreOf } = liked(folder)
  const below = drawing(3)
  const [train, test]: [string[], string[]] = [[], []]
  for (const [user, list] of of) {
    const known = new Set(list.map(({ item }) => item))
    const other = () => {
      let item = 1 + below(items)
      while (known.has(item)) item = 1 + below(items)
      return item
    }
    for (let at = Math.max(3, list.length - 30); at < list.length; at++) {
      const seen = list.slice(Math.max(0, at - 20), at)
      const history = seen.map(({ item }) => item)
      const others = history.map(other)
      // BST: how long ago, in steps that double from an hour on.
      const ago = seen.map(({ time }) => 1 + Math.floor(Math.log2(1 + (list[at]!.time - time) / 3600)))
      const before = [
        slot('hist_item_seq', history),
        slot('hist_cat_seq', history.map(genreOf)),
        slot('neg_hist_item_seq', others),
        slot('neg_hist_cat_seq', others.map(genreOf)),
        slot('position', ago),
        `userid:${user} target_position:0`,
      ].join(' ')
      for (const [item, label] of [[list[at]!.item, 1] as const, [other(), 0] as const])
        (at >= list.length - 6 ? test : train).push(
          `${before} target_item:${item} target_cat:${genreOf(item)} label:${label}`,
        )
    }
  }
  return { train: mixed(train), test }
}

/** The same rows with BST's names of slots. */
export function bstCandidates(folder: string): Rows {
  const renamed = (line: string) =>
    line
      .replaceAll(/ neg_hist_\w+:\d+/g, '')
      .replaceAll('hist_item_seq:', 'history:')
      .replaceAll('hist_cat_seq:', 'cate:')
      .replaceAll('target_item:', 'target:')
      .replaceAll('target_cat:', 'target_cate:')
  const { train, test } = candidates(folder)
  return { train: train.map(renamed), test: test.map(renamed) }
}

/** Users and items: each liked one beside two others; of each user the last one beside twenty is the test. */
export function pairs(folder: string): Rows {
  const { of, items } = liked(folder)
  const below = drawing(5)
  const [train, test]: [string[], string[]] = [[], []]
  for (const [user, list] of of) {
    const known = new Set(list.map(({ item }) => item))
    const row = (item: number, label: number) => `user_input:${user} item_input:${item} label:${label}`
    for (const [i, { item }] of list.entries()) {
      const isLast = i === list.length - 1
      const rows = isLast ? test : train
      rows.push(row(item, 1))
      for (let k = 0; k < (isLast ? 20 : 2); k++) {
        let other = 1 + below(items)
        while (known.has(other)) other = 1 + below(items)
        rows.push(row(other, 0))
      }
    }
  }
  return { train: mixed(train), test }
}

/** Which film comes next, of all: what was liked before, its genres, who it is. The last 3 of a user are the test. */
export function watches(folder: string): Rows {
  const { of, users, genreOf } = liked(folder)
  const [train, test]: [string[], string[]] = [[], []]
  for (const [user, list] of of) {
    const [, age, gender] = users.get(user)!
    const other = [Number(age) / 100, gender === 'M' ? 1 : 0, 1]
    for (let at = 3; at < list.length; at++) {
      const seen = list.slice(Math.max(0, at - 20), at).map(({ item }) => item)
      const row = `${slot('watch', seen)} ${slot('search', [...new Set(seen.map(genreOf))])} ${slot('other_feat', other)} label:${list[at]!.item - 1}`
      ;(at >= list.length - 3 ? test : train).push(row)
    }
  }
  return { train: mixed(train), test: mixed(test) }
}

/** SASRec's histories of the Amazon games: an item a line of Video.txt, users one after the other. */
function histories(folder: string): number[][] {
  const of = new Map<string, number[]>()
  for (const line of readFileSync(join(folder, 'Video.txt'), 'utf8').split('\n')) {
    const [user, item] = line.split(' ')
    if (item) of.set(user!, [...(of.get(user!) ?? []), Number(item)])
  }
  return [...of.values()]
}

const GAMES = 23_715

/** After every item the next one and another; 4,096 users' last items beside 100 others are the test. Batches of 128 are of like length. */
export function nextGames(folder: string): Rows {
  const below = drawing(11)
  const all = mixed(histories(folder).filter((items) => items.length > 3))
  const other = (known: ReadonlySet<number>) => {
    let item = 1 + below(GAMES)
    while (known.has(item)) item = 1 + below(GAMES)
    return item
  }
  const row = (seen: readonly number[], next: readonly number[], others: readonly number[]) =>
    `${slot('history', seen)} ${slot('next', next)} ${slot('other', others)}`
  const train = batchesOfLikeLength(all.map((items) => items.slice(0, -2))).map((items) => {
    const next = items.slice(1).slice(-50)
    const known = new Set(items)
    return row(
      items.slice(0, -1).slice(-50),
      next,
      next.map(() => other(known)),
    )
  })
  const test = all.slice(0, 4096).map((items) => {
    const known = new Set(items)
    return row(
      items.slice(0, -1).slice(-50),
      items.slice(1).slice(-50),
      Array.from({ length: 100 }, () => other(known)),
    )
  })
  return { train, test }
}

/** Full batches of 128 in random order; the few rows that fill none are left out. */
function batchesOfLikeLength(rows: number[][]): number[][] {
  const batches: number[][][] = []
  for (let at = 0; at < rows.length; at += 6400) {
    const sorted = rows.slice(at, at + 6400).sort((a, b) => a.length - b.length)
    for (let i = 0; i + 128 <= sorted.length; i += 128) batches.push(sorted.slice(i, i + 128))
  }
  return mixed(batches).flat()
}

/** What a user took before, and the item taken: two places of each user to train on, the last one of 5,120 users for the test. */
export function takenGames(folder: string): Rows {
  const all = mixed(histories(folder).filter((items) => items.length > 4))
  const places = mixed(
    all.flatMap((items) => [-2, -3].map((at) => ({ seen: items.slice(0, at), item: items.at(at)! }))),
  )
  const counts = new Map<number, number>()
  for (const { item } of places) counts.set(item, (counts.get(item) ?? 0) + 1)
  const row = ({ seen, item }: { seen: readonly number[]; item: number }) => {
    const share = Math.log((counts.get(item) ?? 1) / places.length).toFixed(4)
    const last = seen.slice(-20)
    return `${slot('history', last)} ${slot('hist_item', last)} item:${item} target_item:${item} log_share:${share}`
  }
  const test = all.slice(0, 5120).map((items) => row({ seen: items.slice(0, -1), item: items.at(-1)! }))
  return { train: places.map(row), test }
}

/** AutoInt's form of MovieLens clicks: ten fields, each a feature and its value. Reads what `oarfish data movielens` wrote. */
export function fieldsOfClicks(prepared: string): Rows {
  const of = (part: string) =>
    readFileSync(join(prepared, part, 'part-000'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => {
        const [click, age, hour, ...signs] = line.split(' ').map((word) => word.split(':') as [string, string])
        const firsts = new Map([...signs].reverse()) // of several genres the first
        const index = ['11', '12', ...Array.from({ length: 8 }, (_, i) => firsts.get(String(i + 1)) ?? '0')]
        return `label:${click![1]} ${slot('feat_index', index)} ${slot('feat_value', [age![1], hour![1], ...Array<number>(8).fill(1)])}`
      })
  return { train: of('train'), test: of('test') }
}

export function writeRows(out: string, { train, test }: Rows): void {
  for (const [part, rows] of [
    ['train', train],
    ['test', test],
  ] as const) {
    mkdirSync(join(out, part), { recursive: true })
    writeFileSync(join(out, part, 'part-000'), `${rows.join('\n')}\n`)
  }
}
