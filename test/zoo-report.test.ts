/** @file What `npm run zoo -- --report` trains on and how it judges: rows made of raw files, and when a model agrees with its twin. */
import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candidates, conversions, nextGames, watches } from '../bench/zoo/forms.ts'
import { LEFT_OUT, ZOO } from '../bench/zoo/models.ts'
import { agrees } from '../bench/zoo/page.ts'

const MODELS = fileURLToPath(new URL('../models', import.meta.url))
let folder: string

/** Twelve users who each like twenty films in a row. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-zoo-report-'))
  const users = Array.from({ length: 12 }, (_, i) => i + 1)
  const films = Array.from({ length: 20 }, (_, i) => i + 1)
  const ratings = users.flatMap((user) => films.map((film) => [user, film, 4 + (film % 2), 1000 * film].join('|')))
  await writeFile(join(folder, 'u.data'), `user|item|rating|timestamp\n${ratings.join('\n')}\n`)
  await writeFile(join(folder, 'u.user'), users.map((user) => `${user}|2${user % 10}|M|writer|10000\n`).join(''))
  await writeFile(join(folder, 'u.item'), films.map((film) => `${film}|Film|1995||u|0|1|0\n`).join(''))
  await writeFile(join(folder, 'Video.txt'), users.flatMap((u) => films.map((film) => `${u} ${film}\n`)).join(''))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const slot = (line: string, name: string) =>
  line.split(' ').flatMap((word) => (word.startsWith(`${name}:`) ? [Number(word.slice(name.length + 1))] : []))

describe('rows', () => {
  test('a candidate is the film after the history, or one that the user never liked', () => {
    const { train, test: held } = candidates(folder)
    for (const line of [...train, ...held]) {
      const [last, target, label] = [
        slot(line, 'hist_item_seq').at(-1)!,
        slot(line, 'target_item')[0]!,
        slot(line, 'label')[0],
      ]
      if (label === 1) expect(target).toBe(last + 1)
      else expect(target).toBeGreaterThan(20)
    }
    expect(held.filter((line) => slot(line, 'label')[0] === 1)).toHaveLength(12 * 6)
    // What is held for the test comes later than all that is trained on.
    const latest = Math.max(...train.map((line) => slot(line, 'hist_item_seq').at(-1)!))
    expect(Math.min(...held.map((line) => slot(line, 'hist_item_seq').at(-1)!))).toBeGreaterThan(latest)
  })

  test('a purchase is a click too', () => {
    const { train, test: held } = conversions(folder)
    expect(train.length + held.length).toBe(240)
    for (const line of train) expect(slot(line, 'cvr')[0]! <= slot(line, 'ctr')[0]!).toBe(true)
  })

  test('training sees neither of the last two games', () => {
    const { test: held } = nextGames(folder)
    expect(held).toHaveLength(12)
    for (const line of held) {
      expect(slot(line, 'next').at(-1)).toBe(20)
      expect(slot(line, 'other').filter((item) => item <= 20)).toEqual([])
    }
  })

  test('are the same each time', () => {
    expect(watches(folder)).toEqual(watches(folder))
  })
})

describe('the verdict', () => {
  test('is against a model that is farther below its twin than 0.003 and than luck explains', () => {
    expect(agrees([0.78, 0.78, 0.78], [0.7825, 0.7825, 0.7825])).toBe(true)
    expect(agrees([0.78, 0.78, 0.78], [0.784, 0.784, 0.784])).toBe(false)
    expect(agrees([0.76, 0.78, 0.8], [0.764, 0.784, 0.804])).toBe(true)
  })
})

test('every model that ships is trained beside a twin or left out with its reason', () => {
  const shipped = readdirSync(MODELS).flatMap((kind) =>
    readdirSync(join(MODELS, kind)).map((name) => `${kind}/${name}`),
  )
  expect([...Object.keys(ZOO), ...Object.keys(LEFT_OUT)].sort()).toEqual(shipped.sort())
})
