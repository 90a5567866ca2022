/** @file A stream of shown items with a much longer tail than criteo-like data and a taste that drifts: most users and items are seen a few times. */
import { createRng, deriveSeed, type Rng } from '../../base/util/index.ts'

export const LONG_TAIL_COLUMNS = 26
export const LONG_TAIL_DENSE = 13
export const HISTORY = 8

/** One impression, overwritten by the next. */
export interface LongTailRow {
  /** Per column an id from 0. The last eight are the user's history, newest first; -1 where it is shorter. */
  readonly ids: Int32Array
  readonly dense: Float32Array
  label: number
  /** A rarer second event of the same impression. */
  second: number
  /** The hidden logit of the label. */
  score: number
}

export interface LongTailStream {
  readonly row: LongTailRow
  /** The next impression in time. */
  next(): LongTailRow
  categoryOf(item: number): number
}

const LATENT = 4
const CATEGORIES = 200
/** Items that are on show at a time; as many come and go while `rows` rows pass, seven times over. */
const ON_SHOW = 5000
const TURNOVERS = 7
const CROSS = 2 ** 22 // ids of crossed columns

/** `rows` is how many will be drawn: taste turns once and the catalogue is replaced while they pass. */
export function createLongTail(seed: number, rows: number): LongTailStream {
  const rng = createRng(deriveSeed(seed, 'long-tail rows'))
  const truth = createTruth(seed)
  const users = Math.max(8, Math.round(rows / 4))
  const histories = new Map<number, number[]>()
  const shown = new Map<number, number>()
  const row: LongTailRow = {
    ids: new Int32Array(LONG_TAIL_COLUMNS),
    dense: new Float32Array(LONG_TAIL_DENSE),
    ...{ label: 0, second: 0, score: 0 },
  }
  let drawn = 0
  const next = () => {
    const time = drawn++ / rows
    const user = Math.floor(users * rng.uniform() ** 2)
    const item = drawItem(rng, time)
    const place = { city: zipf(rng, 300), device: zipf(rng, 20), hour: rng.below(24), position: rng.below(10) }
    const history = histories.get(user) ?? []
    fillIds(row.ids, user, item, place, history)
    fillDense(row.dense, rng, place.position, shown.get(item) ?? 0, history.length)
    row.score = truth.score(user, item, place, row.dense, history, time)
    row.label = rng.uniform() < sigmoid(row.score) ? 1 : 0
    row.second = row.label === 1 && rng.uniform() < sigmoid(truth.second(user, item) - 0.5) ? 1 : 0
    shown.set(item, (shown.get(item) ?? 0) + 1)
    if (row.label === 1) histories.set(user, [item, ...history].slice(0, HISTORY))
    return row
  }
  return { row, next, categoryOf }
}

interface Place {
  readonly city: number
  readonly device: number
  readonly hour: number
  readonly position: number
}

/** Newer items are shown more often; the catalogue moves on with time. */
function drawItem(rng: Rng, time: number): number {
  const newest = ON_SHOW * (1 + TURNOVERS * time)
  return Math.floor(newest - ON_SHOW * rng.uniform() ** 1.5)
}

function categoryOf(item: number): number {
  return hash(item, 1) % CATEGORIES
}

function fillIds(ids: Int32Array, user: number, item: number, place: Place, history: readonly number[]): void {
  const category = categoryOf(item)
  const { city, device, hour, position } = place
  ids.set([user, item, category, hash(item, 2) % 2000, hash(item, 3) % 10_000, city, device, hour, position])
  const crossed = [
    [user, category],
    [user, device],
    [item, city],
    [item, device],
    [hash(item, 3) % 10_000, city],
    [category, hour],
    [category, city],
    [device, hour],
    [user, history[0] ?? -1],
  ] as const
  for (const [c, [a, b]] of crossed.entries()) ids[9 + c] = hash(Math.imul(a + 1, 0x2545f491) ^ (b + 1), 10 + c) % CROSS
  for (let h = 0; h < HISTORY; h++) ids[18 + h] = history[h] ?? -1
}

function fillDense(dense: Float32Array, rng: Rng, position: number, shown: number, liked: number): void {
  dense[0] = position / 10
  dense[1] = Math.min(1, Math.log1p(shown) / 6)
  dense[2] = liked / HISTORY
  for (let d = 3; d < LONG_TAIL_DENSE; d++) dense[d] = rng.uniform() ** 1.5
}

/** Effects that are functions of ids, so that any number of users and items needs no memory. */
function createTruth(seed: number) {
  const rng = createRng(deriveSeed(seed, 'long-tail effects'))
  const normals = (length: number, scale: number) => Float64Array.from({ length }, () => scale * rng.normal())
  const salt = rng.below(2 ** 30)
  const categories = Array.from({ length: CATEGORIES }, () => normals(LATENT, 0.6))
  const [cities, devices, hours] = [normals(300, 0.3), normals(20, 0.4), normals(24, 0.3)]
  const slope = normals(LONG_TAIL_DENSE, 0.5)
  const latent = (kind: number, id: number, d: number) => hashNormal(id, salt + 31 * kind + d)
  const taste = (user: number, d: number) => 0.7 * latent(1, user, d)
  const nature = (item: number, d: number) => categories[categoryOf(item)]![d]! + 0.5 * latent(2, item, d)
  const score = (
    user: number,
    item: number,
    { city, device, hour, position }: Place,
    dense: Float32Array,
    history: readonly number[],
    time: number,
  ) => {
    let sum = -1.1 + cities[city]! + devices[device]! + hours[hour]! - 0.06 * position + 0.5 * latent(3, item, 0)
    const fashion = [Math.cos(2 * Math.PI * time), Math.sin(2 * Math.PI * time)]
    for (let d = 0; d < LATENT; d++) {
      let liked = 0
      for (const one of history) liked += nature(one, d) / history.length
      sum += (taste(user, d) + 0.5 * liked + 0.6 * (fashion[d] ?? 0)) * nature(item, d)
    }
    for (let d = 0; d < LONG_TAIL_DENSE; d++) sum += slope[d]! * (dense[d]! - 0.4)
    return sum
  }
  const second = (user: number, item: number) => latent(4, user, 0) + taste(user, 0) * nature(item, 0)
  return { score, second }
}

/** The r-th most frequent of n has a share of about 1 / r. */
function zipf(rng: Rng, n: number): number {
  return Math.floor(Math.exp(rng.uniform() * Math.log(n + 1))) - 1
}

function hash(value: number, salt: number): number {
  let mixed = Math.imul(value + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

/** About normal: the sum of three uniforms. */
function hashNormal(value: number, salt: number): number {
  let sum = -1.5
  for (let i = 0; i < 3; i++) sum += hash(value, salt * 3 + i) / 2 ** 32
  return 2 * sum
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}
