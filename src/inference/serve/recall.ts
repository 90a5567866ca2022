/** @file Answers requests to /recall: users, or items, and how many of the nearest items of each are wanted. */
import { defined, isUserError } from '../../base/util/index.ts'
import { type Columns, joinColumns } from '../../data/index.ts'
import { shortNumber } from '../export/index.ts'
import { type Found, foundText, leftOut, type Searcher, unknownSlots } from '../recall/index.ts'
import { errorResponse, wrongValue } from './errors.ts'
import type { LoadedModel, ScoreRequest, ScoreResponse } from './messages.ts'
import type { ParsedRequest } from './request.ts'
import type { OpenedScorer } from './score-requests.ts'

export interface OpenedIndex extends OpenedScorer {
  readonly loaded: LoadedModel
  readonly searcher: Searcher
}

const K = 50

/** What a request asks for: the nearest of items, or of users. */
interface Wanted {
  readonly kind: 'wanted'
  readonly k: number
  readonly exclude: unknown
  readonly items: readonly bigint[] | undefined
  readonly parsed: ParsedRequest | undefined
}

/** A request as it was read; one that is wrong has its response already. */
type Read = Wanted | { readonly kind: 'refused'; readonly response: ScoreResponse }

/** Responses in the order of the requests; blocks this thread. One that is wrong spoils no other. */
export async function recallRequests(
  { scorer, searcher, parse, loaded }: OpenedIndex,
  requests: readonly ScoreRequest[],
): Promise<ScoreResponse[]> {
  const wanted: Read[] = []
  for (const request of requests) wanted.push(await readRequest(request, parse).catch(refused))
  const good = wanted.flatMap((one) => (one.kind === 'wanted' && one.parsed ? [one.parsed.columns] : []))
  const scored = good.length > 0 ? await scorer.score(joinColumns(scorer.manifest.slots, good)) : undefined
  const { index } = loaded
  const width = index!.manifest.dim * index!.manifest.user!.interests
  const vectors = scored?.outputs[scorer.manifest.score.output]?.data as Float32Array | undefined
  let from = 0
  const responses: ScoreResponse[] = []
  for (const [i, one] of wanted.entries()) {
    if (one.kind === 'refused') {
      responses.push(one.response)
      continue
    }
    const { k, items, parsed, exclude } = one
    const first = from
    from += parsed?.columns.samples ?? 0
    const answer = () => {
      const users = {
        data: vectors?.subarray(first * width, from * width) ?? NOTHING,
        interests: index!.manifest.user!.interests,
      }
      const queries = items ? searcher.itemQueries(items) : users
      const left = excluded(exclude, loaded, parsed?.columns, items)
      const found = searcher.search(queries, { k, exclude: left })
      const body = ANSWERS[requests[i]!.answer](found, { epoch: loaded.manifest.epoch, ignored: parsed?.ignored ?? [] })
      return { status: 200, body, samples: found.length }
    }
    try {
      responses.push(answer())
    } catch (error) {
      responses.push(refused(error).response)
    }
  }
  return responses
}

const NOTHING = new Float32Array()

function refused(error: unknown) {
  if (!isUserError(error)) throw error
  return { kind: 'refused' as const, response: { ...errorResponse(error), samples: 0 } }
}

async function readRequest(request: ScoreRequest, parse: OpenedIndex['parse']): Promise<Wanted> {
  const query = new URLSearchParams(request.query ?? '')
  const asked = query.get('exclude')
  const byAddress = defined({
    k: query.has('k') ? Number(query.get('k')) : undefined,
    exclude: asked === null ? undefined : asked === 'seen' ? true : asked,
  })
  const {
    k = K,
    exclude,
    items,
  } = { ...(request.kind === 'json' ? jsonKeys(request.body) : {}), ...byAddress } as Asked
  const ids = items === undefined ? undefined : idList(items, 'items')
  return { kind: 'wanted', k, exclude, items: ids, parsed: ids ? undefined : await parse(request) }
}

interface Asked {
  readonly k?: number
  readonly exclude?: unknown
  readonly items?: unknown
}

/** What a body says beside its instances; whether it is JSON at all is found where these are read. */
function jsonKeys(body: Uint8Array): Asked {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}

/** Ids that are left out, by query: those of slots, one list for all, or a list for each. */
function excluded(
  exclude: unknown,
  { index, manifest }: LoadedModel,
  columns: Columns | undefined,
  items: readonly bigint[] | undefined,
): readonly (readonly bigint[] | BigUint64Array)[] {
  if (items) return items.map((id) => [id, ...(Array.isArray(exclude) ? idList(exclude, 'exclude') : [])])
  const { samples } = columns!
  if (exclude === undefined || exclude === false || exclude === null) return []
  if (exclude === true || typeof exclude === 'string') {
    const slots = exclude === true ? index!.manifest.seen : [exclude]
    const unknown = unknownSlots(manifest.slots, slots)
    if (unknown) throw unknown
    return leftOut(manifest.slots, columns!, slots)
  }
  if (!Array.isArray(exclude)) throw wrongValue('exclude', 'expected ids, lists of ids, a slot, or true')
  if (!exclude.some(Array.isArray)) {
    const ids = idList(exclude, 'exclude')
    return Array.from({ length: samples }, () => ids)
  }
  if (exclude.length !== samples) throw wrongValue('exclude', `${exclude.length} lists for ${samples} instances`)
  return exclude.map((own) => idList(own, 'exclude'))
}

function idList(value: unknown, what: string): bigint[] {
  const list = Array.isArray(value) ? value : [value]
  return list.map((id) => {
    const text = typeof id === 'string' || Number.isSafeInteger(id) ? String(id) : ''
    if (!/^\d{1,20}$/.test(text) || BigInt(text) >= 2n ** 64n)
      throw wrongValue(what, `expected ids, found ${JSON.stringify(id)?.slice(0, 60)}`)
    return BigInt(text)
  })
}

interface Beside {
  readonly epoch: number
  readonly ignored: readonly string[]
}

const ANSWERS = {
  json: (found: readonly Found[], { epoch, ignored }: Beside) => {
    const ids = found.map((one) => one.ids.map(String))
    const scores = found.map((one) => Array.from(one.scores, shortNumber))
    return `${JSON.stringify({ ids, scores, epoch, ...(ignored.length > 0 ? { ignored } : {}) })}\n`
  },
  text: (found: readonly Found[]) => found.map((one) => `${foundText(one)}\n`).join(''),
} as const
