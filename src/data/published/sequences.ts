/** @file Amazon's games as SASRec's authors published them: histories, one a line. */
import { broken, openWriters, type RawDataOptions, type RawDataResult, rawFile, rowsOf } from './raw.ts'

/** `user item` a line, those of a user together and in the order of time: one history a line. */
export async function prepareSequences(options: RawDataOptions & { readonly file?: string }): Promise<RawDataResult> {
  const file = rawFile(options.from, options.file ?? 'Video.txt')
  const writers = openWriters(options.out, options.force ?? false)
  const seen = new Set<string>()
  let [user, history, largest]: [string | undefined, string[], number] = [undefined, [], 0]
  const flush = async () => {
    // The readers of models/recall/sasrec leave the last items out of training: both folders hold whole histories.
    for (const part of ['train', 'test'] as const) await writers.write(part, history.join(' '))
  }
  for await (const { columns, place } of rowsOf(file, { columns: 2, onProgress: options.onProgress })) {
    const [own, item] = columns as [string, string]
    if (!/^[1-9]\d*$/.test(item)) throw broken(`expected the number of an item, from 1 on, found "${item}".`, place)
    if (own !== user) {
      if (user !== undefined) await flush()
      if (seen.has(own)) throw broken(`user ${own} came before: the lines of a user must stand together.`, place)
      seen.add(own)
      user = own
      history = []
    }
    history.push(item)
    largest = Math.max(largest, Number(item))
  }
  if (user === undefined) throw broken('there are no lines.', { file })
  await flush()
  return { ...(await writers.close()), hyper: { item_num: largest } }
}
