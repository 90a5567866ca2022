/** @file A rank that knows the token, and says what no rank may say: it is cut off, and the others are told whose fault it is. */
import { expect, test } from 'vitest'
import { clientHandshake, Peer, type Reader, socketTransport } from '../../src/base/net/index.ts'
import { CALLS } from '../../src/training/collective/control.ts'
import { allGatherJson, type Group } from '../../src/training/collective/group.ts'
import { TYPES } from '../../src/training/collective/numbers.ts'
import { openSocketRing } from '../../src/training/collective/ring/socket-ring.ts'
import {
  readCutAsked,
  readFailure,
  readModels,
  readNothing,
  readOutcome,
  readParts,
  readPlace,
  readReport,
  readSettings,
  readStart,
  readTablePlan,
  readTruth,
} from '../../src/training/driver/gathered.ts'
import { RING_IDENTITY } from '../collective/ranks.testing.ts'
import { freePorts } from '../ports.testing.ts'

const VALUES = 4
/** A part of an all-reduce of four numbers by two ranks. */
const BYTES = (VALUES / 2) * Float32Array.BYTES_PER_ELEMENT

interface Piece {
  readonly call?: number
  readonly name?: number
  readonly type?: number
  readonly bytes?: number
  readonly body?: number
}

function piece({ call = 1, name = CALLS.indexOf('allReduce'), type = TYPES.indexOf('float32'), ...more }: Piece = {}) {
  const { bytes = BYTES, body = BYTES } = more
  const head = Buffer.alloc(16)
  head.writeUInt32LE(call, 0)
  head.writeUInt8(name, 4)
  head.writeUInt8(type, 5)
  head.writeDoubleLE(bytes, 8)
  return [head, new Uint8Array(body)]
}

const WRONG: readonly (readonly [string, number, readonly Uint8Array[], RegExp])[] = [
  ['asks for what only servers answer', 3, piece(), /request 3 of a rank/],
  ['sends less than the head of a piece', 0, [new Uint8Array(9)], /a piece of that length/],
  ['sends no numbers', 0, piece({ body: 0 }), /a piece of that length/],
  ['sends more than a piece may hold', 0, piece({ body: 1024 * 1024 }), /a piece of that length/],
  ['names a call that there is not', 0, piece({ name: 200 }), /a piece of no call/],
  ['names a type that there is not', 0, piece({ type: 200 }), /a piece of no call/],
  ['sends another number of bytes than it says', 0, piece({ body: 2 * BYTES }), /a piece of 32 bytes/],
  ['sends numbers of another call', 0, piece({ call: 7 }), /rank 1 .*call 7, all-reduce[\s\S]*call 1, all-reduce/],
  ['sends numbers of another type', 0, piece({ type: TYPES.indexOf('int32') }), /rank 1 .*\(int32/],
  ['sends a part of another length', 0, piece({ bytes: 1e300 }), /a part of 1e\+300 bytes/],
]

test.each(WRONG)('a rank that %s', { timeout: 60_000 }, async (_what, method, parts, message) => {
  const { failure, insider } = await together(method, parts)
  expect(await failure).toMatch(message)
  insider.leave()
})

test('what a rank may send is taken', { timeout: 60_000 }, async () => {
  // Both halves: its own of rank 0's part, and the sum of the other.
  const { failure, values, insider } = await together(0, piece(), 2)
  expect(await failure).toBe('')
  expect([...values]).toEqual([1, 1, 0, 0])
  insider.leave()
})

/** Rank 0 of two sums up ones; the other, which sends `parts`, has only zeros. */
async function together(method: number, parts: readonly Uint8Array[], times = 1) {
  const endpoints = (await freePorts(2)).map((port) => `127.0.0.1:${port}`)
  const plan = { kind: 'ring', rank: 0, endpoints, identity: RING_IDENTITY } as const
  const opening = openSocketRing(plan, () => undefined)
  const insider = await asRankOne(endpoints)
  await insider.request(0, [new Uint8Array(0)], { timeoutMs: 30_000, what: 'ready' })
  const ring = await opening
  const values = new Float32Array(VALUES).fill(1)
  const failure = Promise.resolve(ring.allReduce(values, 'sum')).then(
    () => '',
    (error: Error) => error.message,
  )
  for (let i = 0; i < times; i++)
    insider.request(method, parts, { timeoutMs: 30_000, what: 'a piece' }).catch(() => undefined)
  return { failure, values, insider }
}

async function asRankOne(endpoints: readonly string[]): Promise<Peer> {
  const connection = await socketTransport.connect(endpoints[0]!, { timeoutMs: 30_000 })
  const agreement = { 'list of ranks': endpoints.join(',') }
  await clientHandshake(connection, 'rank 0', { ...RING_IDENTITY, role: 'worker', rank: 1, agreement })
  return new Peer(connection, { who: 'rank 0', handle: () => [] })
}

const PLACE = { position: { epoch: 0, batch: 1, chunk: 0, sample: 0 }, input: { files: 1, bytes: 9, crc32: '0' } }
const PART = { table: 0, part: { rows: 1, signs: 'a', values: 'b' }, files: {}, rows: 1 }
const FILE = { bytes: 1, crc32: '0' }

/** What is brought together travels as numbers too: text of JSON, which each takes from the others as it must be. */
test.each<[string, string, Reader<unknown>]>([
  ['what is no JSON', '{', readTruth],
  ['a number where it is asked for yes or no', '1', readTruth],
  ['a place at epoch -1', JSON.stringify({ ...PLACE, position: { ...PLACE.position, epoch: -1 } }), readPlace],
  [
    'a part in a file outside of the checkpoint',
    JSON.stringify([{ ...PART, files: { '../../x/y': FILE } }]),
    readParts,
  ],
  ['settings that are a list', '[]', readSettings],
  ['an error of a code that is none', '{"name":"E","message":"m","user":{"code":"\\u001b[2J"}}', readFailure],
  ['a plan that is none', '{"sharded":"all","notices":[]}', readTablePlan],
  ['a report without a meter', '{"stopped":false,"paused":false,"read":{"chunks":[],"of":0}}', readReport],
  ['a start at epoch -1', '{"epoch":-1}', readStart],
  ['a start with another worker at no place', '{"epoch":0,"workers":[{}]}', readStart],
  ['models that are text', '{"value":"output/0"}', readOutcome(readModels)],
  ['a value where there is only an end', '{"value":7}', readOutcome(readNothing)],
  ['a cut into no folder', '{"aside":7,"changed":true}', readCutAsked],
])('a rank that brings %s is named', async (_what, text, read) => {
  const [own, brought] = ['null', text].map((each) => Buffer.from(each))
  const gathered = { values: new Uint8Array(Buffer.concat([own!, brought!])), counts: [own!.length, brought!.length] }
  const group = { allGather: async () => gathered } as unknown as Group
  const reader: Reader<unknown> = (value, at) => (value === null ? null : read(value, at))
  const failure = await allGatherJson(group, null, reader).catch((error: Error) => error)
  expect(failure).toMatchObject({ code: 'NET_PEER_LOST' })
  expect((failure as Error).message).toMatch(/^rank 1 is gone: it brought what it may not bring \(what it brought/)
  expect((failure as Error).message).not.toContain('\u001b')
})
