/** @file Finds items for whole files: those of the users in text, and those like the items of a list. */
import { createReadStream, existsSync } from 'node:fs'
import { type Columns, linesOf } from '../../data/index.ts'
import { noInput, Scorer, scoreText, shortNumber, type TextOptions } from '../export/index.ts'
import { badItem, itemsAlone } from './errors.ts'
import { openIndex } from './open.ts'
import { type Found, leftOut, Searcher, unknownSlots } from './search.ts'

export interface RecallOptions extends TextOptions {
  /** A folder that findIndex understands. */
  readonly index: string
  readonly k: number
  /** A slot of the users whose items are left out; true: all slots that hold items. @default none are */
  readonly exclude?: string | true | undefined
  /** The input has ids of items, one a line, and items like them are wanted. @default false */
  readonly items?: boolean | undefined
}

/** Opens an index, finds the nearest items of every line and closes it. */
export async function* recall({
  index: path,
  k,
  exclude,
  items = false,
  ...text
}: RecallOptions): AsyncGenerator<Found[]> {
  const index = await openIndex(path)
  const { manifest, user, folder } = index
  const searcher = new Searcher(index)
  if (k > manifest.count) text.onNotice?.(`The index has ${manifest.count} items: all of them are found, not ${k}.`)
  if (items) {
    for await (const ids of idLines(text.input))
      yield searcher.search(searcher.itemQueries(ids), { k, exclude: ids.map((id) => [id]) })
    return
  }
  if (!user) throw itemsAlone(folder)
  const { slots, score } = user.manifest
  const names = exclude === true ? manifest.seen : exclude === undefined ? [] : [exclude]
  const unknown = unknownSlots(slots, names)
  if (unknown) throw unknown
  const scorer = await Scorer.open(user)
  let last: Columns | undefined
  const noted = {
    manifest: user.manifest,
    score: (columns: Columns) => {
      last = columns
      return scorer.score(columns)
    },
  }
  try {
    for await (const scored of scoreText(noted, text)) {
      const queries = { data: scored.outputs[score.output]!.data as Float32Array, interests: manifest.user!.interests }
      yield searcher.search(queries, { k, exclude: names.length > 0 ? leftOut(slots, last!, names) : [] })
    }
  } finally {
    await scorer.close()
  }
}

/** What was found as a line of text. */
export const foundText = ({ ids, scores }: Found): string =>
  ids.map((id, i) => `${id}:${shortNumber(scores[i]!)}`).join(' ')

const LINES = 512

async function* idLines(input: TextOptions['input']): AsyncGenerator<bigint[]> {
  if (typeof input === 'string' && !existsSync(input)) throw noInput(input)
  const [pieces, name] = typeof input === 'string' ? [createReadStream(input), input] : [input, '-']
  let [ids, line]: [bigint[], number] = [[], 0]
  for await (const text of linesOf(pieces, name)) {
    line++
    const id = text.trim()
    if (id === '') continue
    if (!/^\d{1,20}$/.test(id) || BigInt(id) >= 2n ** 64n) throw badItem(name, line, `"${id.slice(0, 40)}" is no id`)
    ids.push(BigInt(id))
    if (ids.length === LINES) {
      yield ids
      ids = []
    }
  }
  if (ids.length > 0) yield ids
}
