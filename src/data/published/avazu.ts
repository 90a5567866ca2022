/** @file Avazu's clicks (Kaggle's train.csv): 23 slots in the groups that rank/flen pools apart; the last day is the test. */
import { signOf } from './criteo.ts'
import { broken, convertRows, type RawDataOptions, type RawDataResult, rawFile } from './raw.ts'

// biome-ignore format: a table reads better in few lines
const COLUMNS = [
  'id', 'click', 'hour', 'C1', 'banner_pos', 'site_id', 'site_domain', 'site_category', 'app_id', 'app_domain', 'app_category', 'device_id', 'device_ip',
  'device_model', 'device_type', 'device_conn_type', 'C14', 'C15', 'C16', 'C17', 'C18', 'C19', 'C20', 'C21',
]
/** Of the user, of the ad, and of the circumstances, as FLEN's authors group them. */
const GROUPS = [
  ['device_id', 'device_ip', 'device_model', 'device_type', 'device_conn_type'],
  ['C1', 'banner_pos', 'C14', 'C15', 'C16', 'C17', 'C18', 'C19', 'C20', 'C21'],
  ['site_id', 'site_domain', 'site_category', 'app_id', 'app_domain', 'app_category'],
]
/** Hour of the day and day of the week stand with the circumstances. */
const TIMES = 2
const LAST_DAY = '141030'

/** Slots in the order of the groups, then the hour of the day and the day of the week; the hour of the day is the dense value. */
export async function prepareAvazu(options: RawDataOptions): Promise<RawDataResult> {
  const file = rawFile(options.from, 'train.csv')
  const places = GROUPS.flat().map((name) => COLUMNS.indexOf(name))
  const counts = await convertRows(options, file, { columns: COLUMNS.length, separator: ',', header: true }, (row) => {
    const { columns, place } = row
    const [, click, time] = columns as [string, string, string]
    if (!/^\d{8}$/.test(time)) throw broken(`expected an hour as YYMMDDHH, found "${time}".`, place)
    const [year, month, day, hour] = [0, 2, 4, 6].map((at) => Number(time.slice(at, at + 2))) as [
      number,
      number,
      number,
      number,
    ]
    const weekday = new Date(Date.UTC(2000 + year, month - 1, day)).getUTCDay()
    const values = [...places.map((at) => columns[at]!), String(hour), String(weekday)]
    const signs = values.flatMap((value, i) => signOf(i + 1, value))
    const part = time.startsWith(LAST_DAY) ? 'test' : 'train'
    return { part, text: [`click:${click}`, `dense_feature:${(hour / 24).toFixed(4)}`, ...signs].join(' ') }
  })
  const group_sizes = GROUPS.map(({ length }, i) => (i === GROUPS.length - 1 ? length + TIMES : length))
  return { ...counts, hyper: { sparse_inputs_slots: 1 + places.length + TIMES, dense_input_dim: 1, group_sizes } }
}
