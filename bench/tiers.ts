/**
 * @file A table larger than its memory limit beside the same table in memory: the CTR DNN on ids with a long tail, every id loaded first.
 * `npm run bench -- --only tiers` (20 million rows, 512MB); `--tier-rows 200000000 --tier-limit 4GB` for the disk alone.
 */
import { createWriteStream, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createRng, sizeOf } from '../src/base/util/index.ts'
import { scratch, script } from './tools.ts'

const EXPONENT = 1.05
const AT_LEAST = 0.6
const SMALL = 20_000

export interface TierOptions {
  readonly rows: number
  readonly limit: string
  readonly samples: number
  /** Beside the table in memory. */
  readonly beside: boolean
}

export async function measureTiers({ rows, limit, samples, beside }: TierOptions): Promise<boolean> {
  const data = await longTail(rows, samples)
  const folder = scratch('tier-rows')
  const run = async (at: string) => (await script('tiers-child.ts', [rows, at, samples, data, folder])).at(-1)!
  const memory = beside ? await run('none') : undefined
  const disk = await run(limit)
  console.log(
    `\n# ${rows} rows of dim 9 with Adam, ids of density x^-${EXPONENT}, CTR DNN, batch 512, one trainer thread\n`,
  )
  for (const figures of [memory, disk]) if (figures) console.log(JSON.stringify(figures))
  // The process itself: the same job over a table of hardly any rows.
  const [small] = await script('tiers-child.ts', [SMALL, 'none', SMALL, await longTail(SMALL, SMALL), folder])
  const own = Number(disk['mostResidentMegabytes']) - Number(small!['mostResidentMegabytes'])
  const most = (1.1 * sizeOf(limit)) / 1e6
  console.log(
    `\nresident: ${own} MB beyond the ${small!['mostResidentMegabytes']} MB of a process with ${SMALL} rows (at most ${most.toFixed(0)})`,
  )
  if (!memory) return own <= most
  const share = Number(disk['samplesPerSecond']) / Number(memory['samplesPerSecond'])
  console.log(`\nwith ${limit}: ${(100 * share).toFixed(0)} % of the rate in memory (at least ${100 * AT_LEAST} %)`)
  return share >= AT_LEAST && own <= most
}

/** Slot text whose ids are drawn from 1 to `rows`, small ones far more often. */
export async function longTail(rows: number, samples: number): Promise<string> {
  const folder = scratch(`long-tail-${rows}-${samples}`)
  if (existsSync(join(folder, 'part-0'))) return folder
  mkdirSync(folder, { recursive: true })
  const random = createRng(5n)
  const [power, top] = [1 - EXPONENT, rows ** (1 - EXPONENT) - 1]
  const id = () => Math.min(rows, Math.floor((top * random.uniform() + 1) ** (1 / power)))
  const dense = Array.from({ length: 13 }, () => 'dense_feature:0.5').join(' ')
  const file = createWriteStream(join(folder, 'part-0'))
  for (let i = 0; i < samples; i++) {
    const slots = Array.from({ length: 26 }, (_, slot) => `${slot + 1}:${id()}`)
    const line = `click:${random.below(4) === 0 ? 1 : 0} ${dense} ${slots.join(' ')}\n`
    if (!file.write(line)) await new Promise<void>((resolve) => file.once('drain', resolve))
  }
  await new Promise<void>((resolve) => file.end(resolve))
  return folder
}
