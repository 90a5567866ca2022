/** @file Scores the requests of a batch together: each is parsed for itself, so that one that is wrong spoils no other. */

import { defined, isUserError } from '../../base/util/index.ts'
import { joinColumns } from '../../data/index.ts'
import { type LoadedExport, outputRows, type Scored, type Scorer, shortNumber } from '../export/index.ts'
import { errorResponse } from './errors.ts'
import type { BodyKind, ScoreRequest, ScoreResponse } from './messages.ts'
import type { ParsedRequest } from './request.ts'

/** A model and how its requests are read. */
export interface OpenedScorer {
  readonly loaded: Pick<LoadedExport, 'version'>
  readonly scorer: Scorer
  readonly parse: (request: ScoreRequest) => ParsedRequest | Promise<ParsedRequest>
}

/** Responses in the order of the requests; blocks this thread. */
export async function scoreRequests(
  { scorer, parse, loaded: { version } }: OpenedScorer,
  requests: readonly ScoreRequest[],
): Promise<ScoreResponse[]> {
  const parsed: Parsed[] = []
  for (const request of requests) parsed.push(await parsedOr(() => parse(request)))
  const good = parsed.flatMap((result) => (result.kind === 'samples' ? [result.columns] : []))
  const scored = good.length > 0 ? await scorer.score(joinColumns(scorer.manifest.slots, good)) : undefined
  let from = 0
  return parsed.map((result, i) => {
    if (result.kind === 'refused') return result.response
    const to = from + result.columns.samples
    const response = {
      status: 200,
      body: ANSWERS[requests[i]!.answer](scorer, scored!, { from, to, ignored: result.ignored, version }),
      samples: to - from,
    }
    from = to
    return response
  })
}

export type Parsed =
  | ({ readonly kind: 'samples' } & ParsedRequest)
  | { readonly kind: 'refused'; readonly response: ScoreResponse }

export async function parsedOr(parse: () => ParsedRequest | Promise<ParsedRequest>): Promise<Parsed> {
  try {
    return { kind: 'samples', ...(await parse()) }
  } catch (error) {
    if (!isUserError(error)) throw error
    return { kind: 'refused', response: { ...errorResponse(error), samples: 0 } }
  }
}

/** A request's samples among those scored with it, and what of it was not read. */
interface Share {
  readonly from: number
  readonly to: number
  readonly ignored: readonly string[]
  readonly version: string | undefined
}

const ANSWERS: { readonly [K in BodyKind]: (scorer: Scorer, scored: Scored, share: Share) => string } = {
  json: ({ manifest }, scored, { from, to, ignored, version }) => {
    const scores = Array.from(scored.scores.subarray(from, to), shortNumber)
    const answer = { scores, outputs: outputRows(scored, from, to), epoch: manifest.epoch, ...defined({ version }) }
    return `${JSON.stringify(ignored.length > 0 ? { ...answer, ignored } : answer)}\n`
  },
  text: (_, { scores }, { from, to }) =>
    Array.from(scores.subarray(from, to), (score) => `${shortNumber(score)}\n`).join(''),
}
