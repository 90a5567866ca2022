/** @file Who may ask a server for what, and how long the question may be: looked at before anything is done with it. */
import {
  BadMessage,
  byKind,
  fields,
  KILOBYTE,
  list,
  MAX_FRAME_BYTES,
  MEGABYTE,
  nullable,
  oneOf,
  optional,
  record,
  text,
  truth,
  whole,
} from '../../base/net/index.ts'
import type { GatherAnswer, GatherRequest } from './all-gather.ts'
import { MOST_HOT } from './hot-rows.ts'
import type { InspectRequest } from './inspect.ts'
import type { Claim, PlaceRun } from './ledger.ts'
import type { PaceAnswer, PaceRequest } from './pace.ts'
import { METHODS } from './protocol.ts'
import type { Lane } from './shard-threads.ts'
import { CONTEXT_BYTES } from './wire-trace.ts'

/** A worker's own connection; one of its threads; one that looks at the job from outside. */
export type Asker = 'worker' | 'thread' | 'observer'

interface Rule {
  readonly from: readonly Asker[]
  /** Bytes of the body, from and to. */
  readonly bytes: readonly [least: number, most: number]
}

const NOTHING = [0, 0] as const
const JSON_BYTES = [2, 64 * KILOBYTE] as const
/** Numbers before the runs. */
const HEAD_BYTES = 32

const RULES: { readonly [M in keyof typeof METHODS]: Rule } = {
  pull: { from: ['worker', 'thread'], bytes: [HEAD_BYTES, MAX_FRAME_BYTES] },
  push: { from: ['worker', 'thread'], bytes: [HEAD_BYTES, MAX_FRAME_BYTES] },
  tracedPull: { from: ['worker', 'thread'], bytes: [CONTEXT_BYTES + HEAD_BYTES, MAX_FRAME_BYTES] },
  tracedPush: { from: ['worker', 'thread'], bytes: [CONTEXT_BYTES + HEAD_BYTES, MAX_FRAME_BYTES] },
  geo: { from: ['worker', 'thread'], bytes: [8 + HEAD_BYTES, MAX_FRAME_BYTES] },
  leave: { from: ['worker'], bytes: [0, 4] },
  join: { from: ['worker'], bytes: [0, 8] },
  // File lists of all data and reports of a pass are gathered so.
  allGather: { from: ['worker'], bytes: [2, 64 * MEGABYTE] },
  scan: { from: ['worker'], bytes: [8, 8] },
  load: { from: ['worker'], bytes: [8, MAX_FRAME_BYTES] },
  dense: { from: ['worker'], bytes: NOTHING },
  loadDense: { from: ['worker'], bytes: [8, MAX_FRAME_BYTES] },
  inspect: { from: ['observer'], bytes: JSON_BYTES },
  reset: { from: ['worker'], bytes: NOTHING },
  claim: { from: ['worker'], bytes: JSON_BYTES },
  putParcel: { from: ['worker'], bytes: [2, MAX_FRAME_BYTES] },
  takeParcel: { from: ['worker'], bytes: [1, 4 * KILOBYTE] },
  tables: { from: ['worker'], bytes: [2, MEGABYTE] },
  counts: { from: ['worker'], bytes: NOTHING },
  pace: { from: ['worker'], bytes: JSON_BYTES },
  // In both directions: one is asked to stop, all are told.
  halt: { from: ['worker'], bytes: NOTHING },
}

/** By method. */
const BY_NUMBER: readonly (Rule | undefined)[] = Object.entries(METHODS).reduce<(Rule | undefined)[]>(
  (rules, [name, number]) => {
    rules[number] = RULES[name as keyof typeof METHODS]
    return rules
  },
  [],
)

/** Throws for a question that this asker may not ask, or that cannot be one. */
export function checkRequest(asker: Asker, method: number, { byteLength }: Uint8Array): void {
  const rule = BY_NUMBER[method]
  if (!rule?.from.includes(asker)) throw new BadMessage(`a ${asker} asks for method ${method}`)
  const [least, most] = rule.bytes
  if (byteLength < least || byteLength > most) throw new BadMessage(`method ${method} with ${byteLength} bytes`)
}

const name = text(4 * KILOBYTE)
const count = whole(0, Number.MAX_SAFE_INTEGER)

const MAX_RUNS = 1_000_000
export const readClaim = fields<Claim>({
  pass: name,
  chunks: whole(0, 2 ** 31),
  sequence: whole(1, 2 ** 32),
  idle: truth,
  taken: optional(list(fields<PlaceRun>({ from: count, to: count }), MAX_RUNS)),
})
/** What is brought is the workers' own business, and travels back as it came. */
export const readGather = fields<GatherRequest>({ name, what: (value) => value, blocking: optional(truth) })
/** Names and signs that are not there are answered by what looks for them. */
export const readInspect = fields<InspectRequest>({
  table: optional(name),
  key: optional(name),
  hot: optional(whole(1, MOST_HOT)),
})
export const readChunk = (value: unknown, at: string) => (value === null ? undefined : count(value, at))

const MAX_WORKERS = 1_000_000
const rank = whole(0, MAX_WORKERS)

export const readGathered = byKind<GatherAnswer>({
  met: fields({ kind: oneOf(['met']), brought: list((value) => value, MAX_WORKERS) }),
  waiting: fields({ kind: oneOf(['waiting']), awaited: list(rank, MAX_WORKERS) }),
  apart: fields({ kind: oneOf(['apart']), places: record(nullable(name), MAX_WORKERS) }),
})
export const readPaceRequest = fields<PaceRequest>({ done: count, next: optional(count), ahead: count })
export const readPace = fields<PaceAnswer>({ slowest: nullable(count), awaited: list(rank, MAX_WORKERS) })
export const readLanes = list(fields<Lane>({ endpoint: text(300), path: optional(text(300, /^\//)) }), 1024)
