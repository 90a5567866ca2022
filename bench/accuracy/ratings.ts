/** @file Generated ratings: people and things that are each seen some tens of times, which is neither seldom nor often. */
import { createRng, deriveSeed } from '../../src/base/util/index.ts'
import type { Sample, SampleOptions } from './samples.ts'

const [PEOPLE, THINGS, TASTES] = [1200, 1600, 4]
const [KINDS, AGES, JOBS, PLACES] = [18, 10, 20, 80]

/** Whether somebody likes something: how mild one is, how good the other, what both have in common, and what an age likes. */
export function ratings({ rows, testRows, seed }: Pick<SampleOptions, 'rows' | 'testRows' | 'seed'>): Sample[] {
  const rng = createRng(deriveSeed(seed, 'ratings'))
  const drawn = (count: number, make: () => number) => Float64Array.from({ length: count }, make)
  const [mild, good] = [drawn(PEOPLE, () => 0.7 * rng.normal()), drawn(THINGS, () => 0.8 * rng.normal())]
  const tastes = (count: number) => Array.from({ length: count }, () => drawn(TASTES, () => 0.6 * rng.normal()))
  const [wants, has] = [tastes(PEOPLE), tastes(THINGS)]
  const person = Array.from({ length: PEOPLE }, () => [rng.below(AGES), rng.below(JOBS), rng.below(PLACES)] as const)
  const thing = Array.from({ length: THINGS }, () => [rng.below(KINDS), rng.below(60)] as const)
  const likes = drawn(KINDS * AGES, () => 0.4 * rng.normal())
  const liked = Array.from({ length: PEOPLE }, (): number[] => [])
  // The first are seen some hundred times as often as the last; half of them 30 to 200 times.
  const popular = (count: number) =>
    Math.floor(((count + count / 9) * (count / 9)) / (count / 9 + rng.uniform() * count) - count / 9)
  return Array.from({ length: rows + testRows }, (): Sample => {
    const [u, i] = [popular(PEOPLE), popular(THINGS)]
    const [[age, job, place], [kind, year]] = [person[u]!, thing[i]!]
    const common = wants[u]!.reduce((sum, want, t) => sum + want * has[i]![t]!, 0)
    const score = 0.2 + mild[u]! + good[i]! + common + likes[kind * AGES + age]!
    const [label, second] = [score, score - 1.5].map((x) => (rng.uniform() < 1 / (1 + Math.exp(-x)) ? 1 : 0))
    const past = liked[u]!
    const ids = Int32Array.from({ length: 26 }, () => -1)
    ids.set([u, i, kind, age, job, place, year, u * KINDS + kind, i * AGES + age, i * JOBS + job, kind * AGES + age])
    for (let h = 0; h < 8; h++) ids[18 + h] = past[h] ?? -1
    const dense = Float32Array.from({ length: 13 }, (_, d) =>
      d === 0 ? age / AGES : d === 1 ? year / 60 : Number(kind === d),
    )
    const history = past.map((one) => [one, thing[one]![0]] as const)
    if (label === 1) liked[u] = [i, ...past].slice(0, 10)
    return { label: label!, second: second!, ids, dense, history, target: [i, kind] }
  })
}
