/** @file MovieLens 100k as clicks. */
import { hashText } from '../../base/util/index.ts'
import { columnsByKey, convertRows, missing, type RawDataOptions, type RawDataResult, rawFile } from './raw.ts'

/** user, item, age, gender, occupation, zip, year, genres. */
const SLOTS = 8

/** Each rating is a sample, clicked where it is 4 or 5; one in ten, by its hash, is for the test. */
export async function prepareMovielens(options: RawDataOptions): Promise<RawDataResult> {
  const { from } = options
  const users = await columnsByKey(rawFile(from, 'u.user'), 5)
  const items = await columnsByKey(rawFile(from, 'u.item'), 24)
  const counts = await convertRows(options, rawFile(from, 'u.data'), { columns: 4 }, ({ columns, place }) => {
    const [user, item, rating, time] = columns as [string, string, string, string]
    const profile = users.get(user) ?? missing('user', user, 'u.user', place)
    const film = items.get(item) ?? missing('item', item, 'u.item', place)
    const part = hashText(`${user} ${item}`) % 10n === 0n ? 'test' : 'train'
    return { part, text: rowOf({ user, item, rating, time, profile, film }) }
  })
  return { ...counts, hyper: { sparse_inputs_slots: 1 + SLOTS, dense_input_dim: 2 } }
}

interface Rating {
  readonly user: string
  readonly item: string
  readonly rating: string
  readonly time: string
  readonly profile: readonly string[]
  readonly film: readonly string[]
}

/** Slot text. A sign is the hash of slot and value, so that slots can share a table. */
function rowOf({ user, item, rating, time, profile, film }: Rating): string {
  const [, age, gender, occupation, zip] = profile
  const genres = film.slice(5).flatMap((has, i) => (has === '1' ? [String(i)] : []))
  const decade = Math.floor(Number(age) / 10)
  const slots = [
    [user],
    [item],
    [String(decade)],
    [gender!],
    [occupation!],
    [zip!.slice(0, 2)],
    [film[2]!.slice(-4)],
    genres,
  ]
  const signs = slots.flatMap((values, i) => values.map((value) => `${i + 1}:${hashText(`${i + 1}=${value}`)}`))
  const hour = new Date(Number(time) * 1000).getUTCHours()
  const dense = [Number(age) / 100, hour / 24].map((value) => `dense_feature:${value.toFixed(4)}`)
  return [`click:${Number(rating) >= 4 ? 1 : 0}`, ...dense, ...signs].join(' ')
}
