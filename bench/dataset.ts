/** @file The benchmark's data: criteo-like rows, made once per (rows, format, seed) and kept in the scratch folder. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { generateCriteoLike } from '../src/data/index.ts'
import { writeTables } from './tables.ts'
import { scratch } from './tools.ts'

/** The folder of a data set, or one of its parts: train, test, or train compressed (gz) or as tables (csv, parquet; of MultiSlot text). */
export async function criteoLike(
  rows: number,
  format: 'slot' | 'multislot',
  seed: number,
  part?: 'train' | 'test' | 'gz' | 'csv' | 'parquet',
): Promise<string> {
  const out = scratch(`criteo-like-${rows}-${format}-${seed}`)
  const done = join(out, 'done.json')
  if (!existsSync(done)) {
    const result = generateCriteoLike({ rows, seed, parts: 8, format, out, force: true })
    writeFileSync(done, JSON.stringify(result))
  }
  if (part === 'gz') compress(join(out, 'train'), join(out, 'gz'))
  if (part === 'csv' || part === 'parquet') writeTables(join(out, 'train'), join(out, part), part)
  return part === undefined ? out : join(out, part)
}

/** AUC of the hidden model on the test rows: what no trained model can beat. */
export function hiddenAuc(dataset: string): number {
  return (JSON.parse(readFileSync(join(dataset, 'done.json'), 'utf8')) as { hiddenAuc: number }).hiddenAuc
}

function compress(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const file of readdirSync(from)) {
    if (!existsSync(join(to, `${file}.gz`)))
      writeFileSync(join(to, `${file}.gz`), gzipSync(readFileSync(join(from, file)), { level: 6 }))
  }
}

/** Slot text that shows each of `rows` ids (at most a million) ten times, one after the other: a tenth of it fills the table of the dnn. */
export function wideData(rows: number): string {
  const folder = scratch(`wide-${rows}`)
  if (existsSync(join(folder, 'part-7'))) return folder
  mkdirSync(folder, { recursive: true })
  const SLOTS = 26
  let shown = 0
  for (let part = 0; part < 8; part++) {
    const lines = Array.from({ length: Math.ceil((10 * rows) / SLOTS / 8) }, (_, i) => {
      const slots = Array.from({ length: SLOTS }, (_, slot) => `${slot + 1}:${((shown++ % rows) * 7919) % 1_000_001}`)
      const dense = Array.from({ length: 13 }, (_, d) => `dense_feature:${((i * 31 + d * 7) % 100) / 100}`)
      return `click:${i % 4 === 0 ? 1 : 0} ${dense.join(' ')} ${slots.join(' ')}`
    })
    writeFileSync(join(folder, `part-${part}`), `${lines.join('\n')}\n`)
  }
  return folder
}
