/** @file Writes data/housing.data: made-up houses whose price is linear in 13 columns, plus noise of variance 9. */
import { writeFileSync } from 'node:fs'

const ROWS = 300
/** Range of each column, and what the whole range adds to the price. */
// biome-ignore format: a table reads better in few lines
const COLUMNS = [
  [0.01, 20, -6], [0, 80, 3], [1, 25, -1], [0, 1, 2], [0.4, 0.9, -7], [4, 8.5, 17], [5, 100, 1],
  [1.1, 10, -12], [1, 24, 6], [190, 710, -6], [13, 22, -8], [0.3, 397, 4], [2, 36, -18],
]
const NOISE = 3

const random = mulberry32(13)
const lines = Array.from({ length: ROWS }, () => {
  const shares = COLUMNS.map(() => random())
  const price = COLUMNS.reduce((sum, [, , effect], c) => sum + effect * (shares[c] - 0.5), 22.5) + NOISE * normal()
  const values = COLUMNS.map(([low, high], c) => (low + (high - low) * shares[c]).toFixed(3).padStart(8))
  return `${values.join('')} ${price.toFixed(2).padStart(6)}`
})
writeFileSync(new URL('data/housing.data', import.meta.url), `${lines.join('\n')}\n`)

function normal() {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** 32 bits of state: enough for a few thousand numbers. */
function mulberry32(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
