/** @file Criteo's display ads (Kaggle's train.txt) as clicks: 13 dense values and 26 slots. */
import { hashText } from '../../base/util/index.ts'
import { broken, convertRows, type RawDataOptions, type RawDataResult, rawFile } from './raw.ts'

const DENSE = 13
const SLOTS = 26
/** What PaddleRec's readers take from each dense value, and divide it by. */
const LOW = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
const SPAN = [20, 603, 100, 50, 64_000, 500, 100, 50, 500, 10, 10, 10, 50]

/** One line in ten, by its hash, is for the test, as the papers draw theirs. A value that is missing is 0, a slot that is has no sign. */
export async function prepareCriteo(options: RawDataOptions): Promise<RawDataResult> {
  const file = rawFile(options.from, 'train.txt')
  const rows = { columns: 1 + DENSE + SLOTS, separator: '\t', header: false }
  const counts = await convertRows(options, file, rows, ({ columns, place }) => {
    const [click, ...values] = columns
    if (click !== '0' && click !== '1') throw broken(`expected a click, 0 or 1, found "${click}".`, place)
    const dense = LOW.map((low, i) => {
      const value = values[i] === '' ? 0 : (Number(values[i]) - low) / SPAN[i]!
      if (Number.isNaN(value)) throw broken(`expected a whole number in column ${i + 2}, found "${values[i]}".`, place)
      return `dense_feature:${Number(value.toFixed(6))}`
    })
    const signs = values.slice(DENSE, DENSE + SLOTS).flatMap((value, i) => signOf(i + 1, value))
    const part = hashText(`${place.line} ${columns.join('\t')}`) % 10n === 0n ? 'test' : 'train'
    return { part, text: [`click:${click}`, ...dense, ...signs].join(' ') }
  })
  return { ...counts, hyper: { sparse_inputs_slots: 1 + SLOTS, dense_input_dim: DENSE } }
}

/** A sign is the hash of slot and value, so that slots can share a table. */
export function signOf(slot: number, value: string): readonly string[] {
  return value === '' ? [] : [`${slot}:${hashText(`${slot}=${value}`)}`]
}
