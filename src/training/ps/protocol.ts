/** @file What workers and servers say to each other, as bytes: numbers first, then runs that are read in place. */

import type { HalfCoder } from '../../base/kernel/index.ts'
import { checkMessage, type Parts } from '../../base/net/index.ts'
import { bytesOf } from '../../base/util/index.ts'
import type { BatchParams, RowGradients, SignGroups, Slice, Values } from '../../weights/params/index.ts'
import type { DistinctSigns } from '../../weights/table/index.ts'
import { denseRun, type Halved, type Precision, plainRun, precisionOf, RunReader, rowRun } from './runs.ts'

export const METHODS = {
  pull: 1,
  push: 2,
  leave: 3,
  join: 4,
  allGather: 5,
  geo: 6,
  scan: 7,
  load: 8,
  dense: 9,
  loadDense: 10,
  inspect: 11,
  reset: 12,
  claim: 13,
  putParcel: 14,
  takeParcel: 15,
  tables: 16,
  counts: 17,
  pace: 18,
  halt: 19,
  tracedPull: 20,
  tracedPush: 21,
} as const

export interface PullRequest extends SignGroups {
  readonly thread: number
  readonly insert: boolean
  /** Dense weights are wanted too. */
  readonly dense: boolean
  /** How many pushes this thread has made: where steps are made together, all of them count in the answer. */
  readonly pushes: number
  /** The answer shall travel so. */
  readonly halved?: Halved | undefined
}

export interface PushRequest extends RowGradients {
  readonly thread: number
  /** The answer shall carry the dense weights after this push. */
  readonly wantsDense: boolean
  /** Dense gradients lie in the thread's window, and the weights go there too. */
  readonly windowed: boolean
  /** Counts this thread's pushes from 1, so that one that arrives twice is applied once. */
  readonly sequence: number
  readonly samples: number
  /** The server's slice of dense gradients and new state. */
  readonly dense: Values
  /** How it travelled, and how the answer shall. */
  readonly halved?: Halved | undefined
}

export interface Join {
  readonly threads: number
  readonly begin: boolean
}

// u32 words: thread, flags, samples, pushes | sequence, dense values in float16, groups, segments, tables; group of each
// table; lengths of each group by segment. Then runs: signs of each group, slot, show and click of each group's signs where
// flagged, gradients of each table, dense values.
const FIXED_WORDS = 8
const [INSERT, DENSE, SHOW_CLICK, WINDOWED, HALVED] = [1, 2, 4, 8, 16]

/** The numbers at the head of a request. */
type Head = readonly [thread: number, flags: number, samples: number, count: number]

/** One server's part of a batch that is grouped by server and, within it, by segment. */
export class SharePart {
  readonly groups: readonly DistinctSigns[]
  readonly tableGroups: readonly number[]
  /** By table: its rows in the share, [first, last) in values. */
  readonly #runs: readonly Slice[]
  /** By group: the first of its signs in the share. */
  readonly #starts: readonly number[]
  readonly #halved: Halved | undefined

  constructor({ tables }: BatchParams<Values>, server: number, segments: number, halved?: Halved) {
    this.#halved = halved
    const known: DistinctSigns[] = []
    const starts: number[] = []
    this.tableGroups = tables.map(({ distinct }) => {
      const at = known.indexOf(distinct)
      if (at >= 0) return at
      known.push(distinct)
      starts.push(sum(distinct.lengths, 0, server * segments))
      return known.length - 1
    })
    this.groups = known.map(({ signs, lengths }, g) => {
      const own = lengths.subarray(server * segments, (server + 1) * segments)
      return { lengths: own, signs: signs.subarray(starts[g]!, starts[g]! + sum(own, 0, segments)) }
    })
    this.#starts = starts
    this.#runs = tables.map(({ distinct, rows }, t) => {
      const dim = distinct.signs.length === 0 ? 0 : rows.length / distinct.signs.length
      const group = this.tableGroups[t]!
      const from = starts[group]! * dim
      return { from, to: from + this.groups[group]!.signs.length * dim }
    })
  }

  encodePull(thread: number, insert: boolean, dense: boolean, pushes: number): Parts {
    return encode(this, [thread, (insert ? INSERT : 0) | (dense ? DENSE : 0), 0, pushes], [], this.#halved)
  }

  encodePush(
    share: BatchParams<Values>,
    slice: Slice,
    { thread, sequence, wantsDense, windowed }: Pick<PushRequest, 'thread' | 'sequence' | 'wantsDense' | 'windowed'>,
  ): Parts {
    const rows = share.tables.map(({ gradients }, t) => gradients.subarray(this.#runs[t]!.from, this.#runs[t]!.to))
    const showClick = this.#showClick(share)
    const flags = (wantsDense ? DENSE : 0) | (windowed ? WINDOWED : 0) | (showClick.length > 0 ? SHOW_CLICK : 0)
    return encode(
      this,
      [thread, flags, share.samples, sequence],
      [
        ...showClick.flatMap(plainRun),
        ...rows.flatMap((run) => rowRun(run, this.#halved)),
        ...(windowed ? [] : denseRun(share.gradients.subarray(slice.from, slice.to), this.#halved)),
      ],
      this.#halved,
    )
  }

  /** By group; none where no table counts show and click, zeros for a group whose tables do not. */
  #showClick({ tables }: BatchParams<Values>): Float32Array[] {
    if (!tables.some(({ showClick }) => showClick)) return []
    return this.groups.map(({ signs }, g) => {
      const showClick = tables.find((_, t) => this.tableGroups[t] === g)!.showClick
      const from = 3 * this.#starts[g]!
      return showClick?.subarray(from, from + 3 * signs.length) ?? new Float32Array(3 * signs.length)
    })
  }

  /** Puts the answer to a pull where the share wants it; without a slice there are no dense weights in it. */
  decodePull(body: Uint8Array<ArrayBuffer>, share: BatchParams<Values>, slice: Slice | undefined): void {
    const runs = new RunReader(body)
    for (const [t, { rows }] of share.tables.entries()) {
      const { from, to } = this.#runs[t]!
      rows.set(runs.rows(precisionOf(rows), to - from, this.#halved), from)
    }
    if (!slice) return
    const { weights } = share
    weights.set(runs.dense(precisionOf(weights), slice.to - slice.from, this.#halved), slice.from)
  }
}

/** Of a worker's joins and leaves, counted together from 1: what arrives again behind a later one is known by it. */
export const encodeTurn = (turn: number) => new Uint8Array(Uint32Array.of(turn).buffer)

/** Undefined where the worker sends nothing again. */
export function decodeTurn(body: Uint8Array<ArrayBuffer>): number | undefined {
  if (body.byteLength === 0 || body.byteLength === 8) return undefined
  checkMessage(body.byteLength === 4, `join or leave with ${body.byteLength} bytes`)
  return new DataView(body.buffer, body.byteOffset).getUint32(0, true)
}

/** A worker whose threads the servers do not know yet; with `begin` their pushes count from 1 again. */
export function encodeJoin({ threads, begin }: Join): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Uint32Array.of(threads, begin ? 1 : 0).buffer)
}

/** Undefined where the worker's threads are known from the start. */
export function decodeJoin(body: Uint8Array<ArrayBuffer>): Join | undefined {
  if (body.byteLength <= 4) return undefined
  checkMessage(body.byteLength === 8, `join with ${body.byteLength} bytes`)
  const [threads = 0, begin] = new Uint32Array(body.buffer, body.byteOffset, 2)
  return { threads, begin: begin === 1 }
}

/** A contribution without samples: the thread has no batch for this step. */
export function encodeSkip(thread: number, sequence: number): Parts {
  return encode({ groups: [], tableGroups: [] }, [thread, 0, 0, sequence], [])
}

/** The answer to a push: how many steps were made, then the dense slice where it was asked for. */
export function pushAnswer(steps: number, weights: Values | undefined, halved: Halved | undefined): Parts {
  return [bytesOf(Uint32Array.of(steps, 0)), ...pullAnswer([], weights, halved)]
}

/** Reads the answer to a push; its dense slice, if any, goes to `weights`. */
export function decodePushAnswer(
  body: Uint8Array<ArrayBuffer>,
  weights: Values,
  { from, to }: Slice,
  halved: Halved | undefined,
): number {
  const runs = new RunReader(body, 8)
  if (body.byteLength > 8) weights.set(runs.dense(precisionOf(weights), to - from, halved), from)
  return new Uint32Array(body.buffer, body.byteOffset, 1)[0]!
}

/** The answer to a pull: rows of every table, then the dense slice where it was asked for. */
export function pullAnswer(rows: readonly Values[], weights: Values | undefined, halved: Halved | undefined): Parts {
  return [...rows.flatMap((run) => rowRun(run, halved)), ...(weights ? denseRun(weights, halved) : [])]
}

export function decodePull(body: Uint8Array<ArrayBuffer>, coder: HalfCoder): PullRequest {
  const { words, signs } = decodeSigns(body)
  const [thread = 0, flags = 0, , pushes = 0] = words
  return {
    ...signs,
    thread,
    insert: (flags & INSERT) > 0,
    dense: (flags & DENSE) > 0,
    pushes,
    halved: halvedOf(words, coder),
  }
}

/** Views on the body; `dims` are those of the tables, `dense` how many dense values belong to this server. `runs`: what comes after. */
export function decodePush(
  body: Uint8Array<ArrayBuffer>,
  precision: Precision,
  dims: readonly number[],
  dense: number,
  coder: HalfCoder,
): PushRequest & { readonly runs: RunReader } {
  const { words, signs, runs } = decodeSigns(body)
  const halved = halvedOf(words, coder)
  checkMessage(signs.tableGroups.length <= dims.length, 'more tables than there are')
  checkMessage(!halved || halved.dense <= dense, 'more dense values than there are')
  const showClick =
    words[1]! & SHOW_CLICK ? signs.groups.map((group) => runs.plain('float32', 3 * group.signs.length)) : undefined
  const gradients = signs.tableGroups.map((group, t) =>
    runs.rows(precision, signs.groups[group]!.signs.length * dims[t]!, halved),
  )
  const [thread = 0, flags = 0, samples = 0, sequence = 0] = words
  return {
    ...signs,
    thread,
    samples,
    sequence,
    gradients,
    showClick: showClick as Float32Array[] | undefined,
    wantsDense: (flags & DENSE) > 0,
    windowed: (flags & WINDOWED) > 0,
    dense: runs.dense(precision, samples === 0 || (flags & WINDOWED) > 0 ? 0 : dense, halved),
    halved,
    runs,
  }
}

/** How a message says that it travels. */
function halvedOf(words: Uint32Array, coder: HalfCoder): Halved | undefined {
  return words[1]! & HALVED ? { coder, dense: words[4]! } : undefined
}

/** The numbers before the runs of values, the signs, and the runs. */
export function encode({ groups, tableGroups }: SignGroups, head: Head, runs: Parts, halved?: Halved): Parts {
  const segments = groups[0]?.lengths.length ?? 0
  const [thread, flags, samples, count] = head
  const words = [thread, flags | (halved ? HALVED : 0), samples, count, halved?.dense ?? 0]
  words.push(groups.length, segments, tableGroups.length, ...tableGroups)
  for (const { lengths } of groups) words.push(...lengths)
  return [...plainRun(Uint32Array.from(words)), ...groups.flatMap(({ signs }) => plainRun(signs)), ...runs]
}

function decodeSigns(body: Uint8Array<ArrayBuffer>) {
  checkMessage(body.byteLength >= 4 * FIXED_WORDS && body.byteOffset % 8 === 0, 'a batch without its numbers')
  const words = new Uint32Array(body.buffer, body.byteOffset, Math.floor(body.byteLength / 4))
  const [groupCount, segments, tables] = [words[5]!, words[6]!, words[7]!]
  const lengthsAt = FIXED_WORDS + tables
  const isWhole = lengthsAt + groupCount * segments <= words.length && groupCount <= tables
  checkMessage(isWhole, 'a batch shorter than it says')
  checkMessage(words[1]! < 2 * HALVED, 'a batch with flags that are none')
  for (let t = FIXED_WORDS; t < lengthsAt; t++) checkMessage(words[t]! < groupCount, 'a table without its signs')
  const runs = new RunReader(body, 4 * (lengthsAt + groupCount * segments))
  const groups = Array.from({ length: groupCount }, (_, g): DistinctSigns => {
    const lengths = words.subarray(lengthsAt + g * segments, lengthsAt + (g + 1) * segments)
    return { lengths, signs: runs.signs(sum(lengths, 0, segments)) }
  })
  return { words, runs, signs: { groups, tableGroups: [...words.subarray(FIXED_WORDS, lengthsAt)] } }
}

function sum(numbers: Uint32Array, from: number, to: number): number {
  let total = 0
  for (let i = from; i < to; i++) total += numbers[i]!
  return total
}
