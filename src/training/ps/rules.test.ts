/** @file What a server takes from those that belong to its job: every message is looked at before it is used. */
import { describe, expect, test } from 'vitest'
import { openProblem, openStores } from '../../../test/ps/exact.testing.ts'
import { BadMessage } from '../../base/net/index.ts'
import { encodeJoin, METHODS } from './protocol.ts'
import { checkRequest, readClaim, readGather, readInspect } from './rules.ts'
import { ParameterServer } from './server.ts'

const words = (...numbers: number[]) => new Uint8Array(Uint32Array.from(numbers).buffer)
const json = (value: unknown) => new Uint8Array(Buffer.from(JSON.stringify(value)))
/** thread, flags, samples, count, dense in float16, groups, segments, tables, then what follows. */
const batch = (change: Readonly<Record<number, number>> = {}, ...rest: number[]) => {
  const head = [0, 0, 0, 1, 0, 0, 0, 0]
  for (const [at, value] of Object.entries(change)) head[Number(at)] = value
  return words(...head, ...rest)
}

describe('a server cuts off a worker that', async () => {
  const problem = await openProblem({ kind: 'sgd', learningRate: 0.1 } as never)
  const [store] = openStores(problem, 1)
  const server = new ParameterServer({ store: store!, mode: 'async', workers: 2, threads: 1, segments: 1 })
  const asks = async (method: number, body: Uint8Array<ArrayBuffer>) => await server.handle(0, method, body)

  test.each([
    ['pulls without a head', METHODS.pull, words(1, 2)],
    ['pulls for thread 4,000,000,000', METHODS.pull, batch({ 0: 4_000_000_000 })],
    ['pulls with flags that are none', METHODS.pull, batch({ 1: 1 << 20 })],
    ['pulls 4,000,000,000 tables', METHODS.pull, batch({ 7: 4_000_000_000 })],
    ['pulls more groups than tables', METHODS.pull, batch({ 5: 3, 6: 1, 7: 1 }, 0, 1, 1, 1)],
    ['pulls a table of a group that is not there', METHODS.pull, batch({ 5: 1, 6: 1, 7: 1 }, 7, 0)],
    ['pulls signs that are not there', METHODS.pull, batch({ 5: 1, 6: 1, 7: 1 }, 0, 1_000_000)],
    ['pulls lengths that overflow', METHODS.pull, batch({ 5: 1, 6: 0xffffffff, 7: 1 }, 0, 1)],
    ['pulls for another number of tables', METHODS.pull, batch({ 5: 1, 6: 1, 7: 9 }, ...Array(9).fill(0), 0)],
    ['pulls signs in other segments', METHODS.pull, batch({ 5: 1, 6: 2, 7: 1 }, 0, 0, 0)],
    ['pulls more values in float16 than there are', METHODS.pull, batch({ 1: 2 | 16, 4: 1_000_000_000 })],
    ['pushes less than it says', METHODS.push, batch({ 2: 1 })],
    ['pushes into a window that it has not', METHODS.push, batch({ 1: 8, 2: 1 })],
    ['sends a geo message without its signs', METHODS.geo, words(1, 0, 0)],
    ['joins with 2 billion threads', METHODS.join, encodeJoin({ threads: 2_000_000_000, begin: true })],
    ['joins with half a message', METHODS.join, words(1).subarray(0, 3)],
    ['leaves with a message', METHODS.leave, words(1, 2)],
    ['scans table 99', METHODS.scan, words(99, 1)],
    ['loads rows of table 99', METHODS.load, words(99, 0)],
    ['loads more rows than it sends', METHODS.load, words(0, 0xffffffff)],
    ['loads rows that are too short', METHODS.load, words(0, 1, 5, 5, 1)],
    ['loads dense weights of another size', METHODS.loadDense, words(1, 0, 0)],
    ['claims chunks in words', METHODS.claim, json({ pass: 'p', chunks: 'many', sequence: 1, idle: false })],
    ['claims something else', METHODS.claim, json(['p'])],
    ['gathers without a name', METHODS.allGather, json({ what: 1 })],
    ['gathers what is no JSON', METHODS.allGather, words(1, 2)],
    ['puts a parcel without an address', METHODS.putParcel, words(0, 0)],
    ['looks as an observer would', METHODS.inspect, json({})],
    ['asks for a method that is none', 200, words()],
  ])('%s', async (_, method, body) => {
    await expect(asks(method, body)).rejects.toBeInstanceOf(BadMessage)
  })

  const names = Object.keys(METHODS) as (keyof typeof METHODS)[]
  const OWN = { thread: ['pull', 'push', 'tracedPull', 'tracedPush', 'geo'], observer: ['inspect'] } as const
  test.each(
    (['thread', 'observer'] as const).flatMap((asker) =>
      names.filter((name) => !(OWN[asker] as readonly string[]).includes(name)).map((name) => [asker, name] as const),
    ),
  )('is %s and asks for %s, which is not its own', (asker, name) => {
    // As long as one may be that is: it is the asker that is refused.
    const long = name === 'leave' || name === 'join' ? 0 : 64
    expect(() => checkRequest(asker, METHODS[name], new Uint8Array(long))).toThrow(`a ${asker} asks for method`)
  })

  /** Each with a body that is longer or shorter than any of that kind may be. */
  test.each([
    ...(['leave', 'join', 'dense', 'reset', 'counts', 'halt', 'scan'] as const).map((name) => [name, 9] as const),
    ...(['claim', 'pace', 'tables'] as const).flatMap((name) => [[name, 1] as const, [name, 2 * 1024 * 1024] as const]),
    ...(['load', 'loadDense', 'allGather', 'putParcel', 'takeParcel', 'pull', 'push', 'geo'] as const).map(
      (name) => [name, 0] as const,
    ),
    ...(['tracedPull', 'tracedPush'] as const).map((name) => [name, 40] as const),
    ['takeParcel', 5000],
    ['allGather', 65 * 1024 * 1024],
  ] as const)('asks for %s with %i bytes', (name, bytes) => {
    expect(() => checkRequest('worker', METHODS[name], new Uint8Array(bytes))).toThrow(`with ${bytes} bytes`)
  })

  test.each([
    ['no JSON', words(1)],
    ['no number', json({ done: 'x', ahead: 1 })],
    ['less than nothing', json({ done: -1, ahead: 1 })],
    ['more than it may say', json({ done: 1, ahead: 1, rank: 0 })],
  ])('keeps pace by %s', async (_, body) => {
    await expect(asks(METHODS.pace, body)).rejects.toBeInstanceOf(BadMessage)
  })

  test('and what belongs there still goes through', async () => {
    await asks(METHODS.pull, batch())
    await asks(METHODS.join, encodeJoin({ threads: 1, begin: true }))
    await asks(METHODS.counts, words())
    expect(readClaim({ pass: 'p', chunks: 3, sequence: 1, idle: true }, 'claim')).toMatchObject({ chunks: 3 })
    expect(readGather({ name: 'n', what: { any: 'thing' } }, 'gather')).toMatchObject({ what: { any: 'thing' } })
    expect(readInspect({ table: 't' }, 'inspect')).toMatchObject({ table: 't' })
  })

  test('names in a message do not reach the prototypes of this process', () => {
    const hostile = JSON.parse('{"pass":"p","chunks":1,"sequence":1,"idle":true,"__proto__":{"polluted":1}}')
    expect(() => readClaim(hostile, 'claim')).toThrow(BadMessage)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})
