/** @file Alibaba's clicks and conversions (Ali-CCP): the fields that multitask/esmm and its kin read. */
import { hashText } from '../../base/util/index.ts'
import { broken, missing, openWriters, type RawDataOptions, type RawDataResult, rawFile, rowsOf } from './raw.ts'

// biome-ignore format: a table reads better in few lines
export const ALI_FIELDS = [
  '101', '109_14', '110_14', '127_14', '150_14', '121', '122', '124', '125', '126', '127', '128',
  '129', '205', '206', '207', '210', '216', '508', '509', '702', '853', '301',
]
const PLACES = new Map(ALI_FIELDS.map((field, i) => [field, i]))
/** Values of a field that are kept. */
const MOST = 50

/**
 * sample_skeleton_{train,test}.csv: id, click, buy, key of the user's features, count, features; common_features_{train,test}.csv: key, count, features. A feature
 * is field^Bid^Cvalue, features are divided by ^A. The published split is kept; a purchase without a click is left out, as the authors say.
 */
export async function prepareAliCcp(options: RawDataOptions): Promise<RawDataResult> {
  const writers = openWriters(options.out, options.force ?? false)
  for (const part of ['train', 'test'] as const) {
    const common = await commonFeatures(rawFile(options.from, `common_features_${part}.csv`))
    const file = rawFile(options.from, `sample_skeleton_${part}.csv`)
    const rows = { columns: 6, separator: ',', header: false, onProgress: options.onProgress }
    for await (const { columns, place } of rowsOf(file, rows)) {
      const [, click, buy, key, , features] = columns as [string, string, string, string, string, string]
      if (click === '0' && buy === '1') continue
      const own = common.get(key) ?? missing('the key', key, `common_features_${part}.csv`, place)
      const signs = [...fieldsOf(own), ...fieldsOf(features)]
      if (signs.length === 0) throw broken('none of its features is of a field that models read.', place)
      await writers.write(part, `${signs.join(' ')} ctr:${click} cvr:${buy}`)
    }
  }
  return { ...(await writers.close()), hyper: { num_field: ALI_FIELDS.length } }
}

/** Of each user, in memory: some hundred thousand lines of text. */
async function commonFeatures(file: string): Promise<ReadonlyMap<string, string>> {
  const features = new Map<string, string>()
  for await (const { columns } of rowsOf(file, { columns: 3, separator: ',', header: false }))
    features.set(columns[0]!, columns[2]!)
  return features
}

function fieldsOf(features: string): string[] {
  const counts = new Map<string, number>()
  return features.split('\u0001').flatMap((feature) => {
    const [field, rest] = feature.split('\u0002')
    const place = PLACES.get(field!)
    const count = counts.get(field!) ?? 0
    if (place === undefined || rest === undefined || count >= MOST) return []
    counts.set(field!, count + 1)
    return [`field_${place}:${hashText(`${field}=${rest.split('\u0003')[0]}`)}`]
  })
}
