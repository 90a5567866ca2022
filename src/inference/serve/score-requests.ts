/** @file Scores the requests of a batch together: each is parsed for itself, so that one that is wrong spoils no other. */

import { isUserError } from '../../base/util/index.ts'
import { type Columns, joinColumns } from '../../data/index.ts'
import { outputRows, type Scored, type Scorer, shortNumber } from '../export/index.ts'
import { errorResponse } from './errors.ts'
import type { BodyKind, ScoreRequest, ScoreResponse } from './messages.ts'
import type { RequestParser } from './request.ts'

/** Responses in the order of the requests; blocks this thread. */
export async function scoreRequests(
  scorer: Scorer,
  parse: RequestParser,
  requests: readonly ScoreRequest[],
): Promise<ScoreResponse[]> {
  const parsed = requests.map((request) => parsedOr(() => parse(request)))
  const good = parsed.flatMap((result) => (result.kind === 'samples' ? [result.columns] : []))
  const scored = good.length > 0 ? await scorer.score(joinColumns(scorer.manifest.slots, good)) : undefined
  let from = 0
  return parsed.map((result, i) => {
    if (result.kind === 'refused') return result.response
    const to = from + result.columns.samples
    const response = { status: 200, body: ANSWERS[requests[i]!.answer](scorer, scored!, from, to), samples: to - from }
    from = to
    return response
  })
}

type Parsed =
  | { readonly kind: 'samples'; readonly columns: Columns }
  | { readonly kind: 'refused'; readonly response: ScoreResponse }

function parsedOr(parse: () => Columns): Parsed {
  try {
    return { kind: 'samples', columns: parse() }
  } catch (error) {
    if (!isUserError(error)) throw error
    return { kind: 'refused', response: { ...errorResponse(error), samples: 0 } }
  }
}

const ANSWERS: { readonly [K in BodyKind]: (scorer: Scorer, scored: Scored, from: number, to: number) => string } = {
  json: ({ manifest }, scored, from, to) => {
    const scores = Array.from(scored.scores.subarray(from, to), shortNumber)
    return `${JSON.stringify({ scores, outputs: outputRows(scored, from, to), epoch: manifest.epoch })}\n`
  },
  text: (_, { scores }, from, to) =>
    Array.from(scores.subarray(from, to), (score) => `${shortNumber(score)}\n`).join(''),
}
