/** @file Alibaba's display ads (raw_sample.csv, ad_feature.csv, user_profile.csv) as clicks; the last of the eight days is the test. */
import { signOf } from './criteo.ts'
import { broken, columnsByKey, convertRows, missing, type RawDataOptions, type RawDataResult, rawFile } from './raw.ts'

/** The eighth day begins here: 2017-05-13, 00:00 in China. */
const LAST_DAY = 1_494_604_800
/** user, place on the page, ad, category, campaign, customer, brand; then what the profile says. */
const AD_COLUMNS = 6
const PROFILE_COLUMNS = 9
const SLOTS = 7 + PROFILE_COLUMNS - 1

/** Without behavior_log.csv, whose 700 million lines histories would be made of. A user without a profile has its own sign alone. The price is the dense value. */
export async function prepareAlimama(options: RawDataOptions): Promise<RawDataResult> {
  const csv = { separator: ',', header: true }
  const ads = await columnsByKey(rawFile(options.from, 'ad_feature.csv'), AD_COLUMNS, csv)
  const users = await columnsByKey(rawFile(options.from, 'user_profile.csv'), PROFILE_COLUMNS, csv)
  const file = rawFile(options.from, 'raw_sample.csv')
  const counts = await convertRows(options, file, { columns: 6, ...csv }, ({ columns, place }) => {
    const [user, time, ad, page, , click] = columns as [string, string, string, string, string, string]
    if (!/^\d+$/.test(time)) throw broken(`expected a time in seconds, found "${time}".`, place)
    const [, category, campaign, customer, brand, price] = ads.get(ad) ?? missing('ad', ad, 'ad_feature.csv', place)
    const known = (value: string | undefined) => (value === undefined || value === 'NULL' ? '' : value)
    const values = [user, page, ad, category, campaign, customer, brand, ...(users.get(user)?.slice(1) ?? [])]
    const signs = values.flatMap((value, i) => signOf(i + 1, known(value)))
    const dense = `dense_feature:${(Math.log1p(Number(known(price)) || 0) / 10).toFixed(4)}`
    return { part: Number(time) < LAST_DAY ? 'train' : 'test', text: [`click:${click}`, dense, ...signs].join(' ') }
  })
  return { ...counts, hyper: { sparse_inputs_slots: 1 + SLOTS, dense_input_dim: 1 } }
}
