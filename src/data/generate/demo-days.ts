/** @file Days of clicks as logs bring them in: `<day>/<HHMM>/part-000` of `feasign:slot` lines, with signs that come and go and a taste that drifts. */
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  createRng,
  dayAfter,
  deriveSeed,
  isDay,
  isUserError,
  mix64,
  type Rng,
  splitsOfDay,
  UserError,
} from '../../base/util/index.ts'

export interface DemoDaysOptions {
  readonly out: string
  /** The first day, YYYYMMDD. */
  readonly start: string
  readonly days: number
  /** Minutes of a split, which is a folder. */
  readonly splitInterval: number
  /** Lines of a split. */
  readonly rows: number
  /** Slots beside the click: 2, 3, ... @default 300 */
  readonly slots?: number | undefined
  /** @default 1 */
  readonly seed?: number | undefined
  /** Written into each split once it is whole. @default none */
  readonly donefile?: string | undefined
  /** Replaces these days where they are. @default false */
  readonly force?: boolean | undefined
  readonly onProgress?: ((rows: number, ofRows: number) => void) | undefined
}

export interface DemoDaysResult {
  readonly days: readonly string[]
  readonly splits: number
  readonly rows: number
  readonly positiveShare: number
}

/** Of the slots, how many a line has. */
const FILLED = 0.1
const SIGNS_OF_SLOT = 2000
/** Of a slot's signs, how many are new from one day to the next. */
const NEW_A_DAY = 0.05
const EFFECT = 0.45

/** The same seed gives the same lines, whatever the number of days. Blocks while it writes. */
export function generateDemoDays(options: DemoDaysOptions): DemoDaysResult {
  const { out, start, days: count, splitInterval, rows, slots = 300, seed = 1, donefile, onProgress } = options
  check(options)
  const days = Array.from({ length: count }, (_, i) => dayAfter(start, i))
  const splits = splitsOfDay(splitInterval)
  const total = days.length * splits.length * rows
  let [done, positives] = [0, 0]
  try {
    for (const day of days) prepareDay(join(out, day), options.force ?? false)
    for (const [d, day] of days.entries()) {
      for (const split of splits) {
        const rng = createRng(deriveSeed(seed, `${day} ${split}`))
        const folder = join(out, day, split)
        mkdirSync(folder, { recursive: true })
        const lines = Array.from({ length: rows }, () => {
          const { text, click } = drawLine(rng, seed, d, slots)
          positives += click
          return text
        })
        writeWhole(join(folder, 'part-000'), lines.join(''))
        if (donefile) writeWhole(join(folder, donefile), '')
        done += rows
        onProgress?.(done, total)
      }
    }
  } catch (error) {
    if (isUserError(error)) throw error
    throw new UserError(`The days cannot be written: ${(error as Error).message}.`, {
      code: 'DATA_GENERATE',
      where: { file: out },
      hint: 'Name a folder that can be written with --out.',
      cause: error,
    })
  }
  return { days, splits: splits.length, rows: total, positiveShare: total > 0 ? positives / total : 0 }
}

/** Small signs are common; a day brings new ones. */
function drawLine(
  rng: Rng,
  seed: number,
  day: number,
  slots: number,
): { readonly text: string; readonly click: number } {
  let logit = -1
  let pairs = ''
  for (let slot = 2; slot < slots + 2; slot++) {
    if (rng.uniform() >= FILLED) continue
    const signs = 1 + rng.below(2)
    for (let i = 0; i < signs; i++) {
      const rank = Math.floor(SIGNS_OF_SLOT * rng.uniform() ** 3)
      const id = rank + Math.floor(NEW_A_DAY * SIGNS_OF_SLOT * day * rng.uniform())
      const sign = mix64(BigInt(id) * 1_000_003n + BigInt(slot))
      logit += (EFFECT * effectOf(seed, sign, day)) / Math.sqrt(slots * FILLED)
      pairs += ` ${sign}:${slot}`
    }
  }
  const click = rng.uniform() < 1 / (1 + Math.exp(-logit)) ? 1 : 0
  return { text: `${click}:1${pairs}\n`, click }
}

/** What a sign is worth, about standard normal times 4: half of it is for good, half turns with the days. */
function effectOf(seed: number, sign: bigint, day: number): number {
  const bits = mix64(sign ^ BigInt(seed))
  const [lasting, phase] = [
    Number(bits & 0xffffn) / 0x8000 - 1,
    (Number((bits >> 16n) & 0xffffn) / 0x10000) * 2 * Math.PI,
  ]
  return 4 * (lasting + 0.7 * Math.sin(phase + day / 3))
}

function prepareDay(folder: string, force: boolean): void {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    if (!force)
      throw new UserError('This day is there already.', {
        code: 'DATA_GENERATE',
        where: { file: folder },
        hint: 'Name another folder, or replace the days with --force.',
      })
    rmSync(folder, { recursive: true })
  }
  mkdirSync(folder, { recursive: true })
}

function writeWhole(path: string, text: string): void {
  const file = openSync(path, 'w')
  try {
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
}

function check({ start, days, splitInterval, rows, slots = 300 }: DemoDaysOptions): void {
  const wrong = (message: string, hint: string) => new UserError(message, { code: 'DATA_GENERATE', hint })
  if (!isDay(start)) throw wrong(`${start} is not a day.`, 'Write --start as YYYYMMDD.')
  if (days < 1 || rows < 1 || slots < 1)
    throw wrong('There is nothing to write.', 'Days, rows and slots are 1 or more.')
  if (splitInterval < 1 || splitInterval > 1440)
    throw wrong(`A split of ${splitInterval} minutes is not a part of a day.`, 'Give --split-interval from 1 to 1440.')
}
