/** @file Places in a stream: what a pass takes, which day it is of, and that what was noted is what comes again. */
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseKafka } from './address.ts'
import { cutOf } from './cutter.ts'
import { watchFolder } from './folder-source.ts'
import { positionsAfter, readPasses, type StreamPass, withPass, writePasses } from './pass-log.ts'
import { shares } from './source.ts'
import { StreamDays } from './stream-days.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-stream-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('an address has brokers, a topic and a group; what is wrong with it is named', () => {
  expect(parseKafka('kafka://a:9092,b:9093/clicks?group=ctr')).toEqual({
    ...{ brokers: ['a:9092', 'b:9093'], topic: 'clicks', group: 'ctr', from: 'group', tls: false, sasl: undefined },
  })
  const wrong = (address: string) => {
    try {
      return parseKafka(address)
    } catch (error) {
      return error
    }
  }
  expect(wrong('kafka://a/clicks?group=g')).toMatchObject({ message: expect.stringContaining('a has no port') })
  expect(wrong('kafka://a:1?group=g')).toMatchObject({ code: 'STREAM_ADDRESS' })
  expect(wrong('kafka://a:1/t')).toMatchObject({ message: expect.stringContaining('group is missing') })
  expect(wrong('kafka://a:1/t?group=g&form=latest')).toMatchObject({
    message: expect.stringContaining('form is not one'),
  })
  expect(wrong('kafka://me:pw@a:1/t?group=g')).toMatchObject({
    message: expect.stringContaining('OARFISH_KAFKA_PASSWORD'),
  })
})

test('a pass ends by time, by count, with its day, or with the stream', () => {
  const rule = { seconds: 60, records: 100, stopsAtEnd: false }
  const state = { waitedSeconds: 1, isDayOver: false, reach: { records: 5, rest: 0 } }
  expect(cutOf(rule, state)).toBe('wait')
  expect(cutOf(rule, { ...state, waitedSeconds: 60 })).toBe('cut')
  expect(cutOf(rule, { ...state, waitedSeconds: 60, reach: { records: 0, rest: 0 } })).toBe('wait')
  expect(cutOf(rule, { ...state, reach: { records: 100, rest: 7 } })).toBe('cut')
  expect(cutOf(rule, { ...state, isDayOver: true })).toBe('last')
  expect(cutOf(rule, { ...state, isDayOver: true, reach: { records: 100, rest: 7 } })).toBe('cut')
  expect(cutOf(rule, { ...state, isDayOver: true, reach: { records: 0, rest: 0 } })).toBe('last')
  expect(cutOf({ ...rule, stopsAtEnd: true }, state)).toBe('cut')
  expect(cutOf({ ...rule, stopsAtEnd: true }, { ...state, reach: { records: 0, rest: 0 } })).toBe('end')
})

test('of partitions that have more than may be taken, as even parts as can be are', () => {
  expect(shares([10, 0, 3], 100)).toEqual([10, 0, 3])
  expect(shares([10, 0, 3], 6)).toEqual([3, 0, 3])
  expect(shares([10, 1, 10], 9)).toEqual([4, 1, 4])
  expect(shares([5, 5], 1)).toEqual([1, 0])
  expect(shares([1, 2], Number.POSITIVE_INFINITY)).toEqual([1, 2])
})

const pass = (epoch: number, more: Partial<StreamPass> = {}): StreamPass => ({
  ...{ epoch, day: '20190720', pass: epoch + 1, isLast: false, records: 2, parts: { 0: [2 * epoch, 2 * epoch + 2] } },
  ...more,
})

describe('the log', () => {
  test('gives the places behind each pass, also where old passes have gone out of it', async () => {
    let log = withPass({ stream: 's', before: { 0: 0, 1: 7 }, passes: [] }, pass(0))
    for (const epoch of [1, 2, 3]) log = withPass(log, pass(epoch), 2)
    expect(log.passes.map(({ epoch }) => epoch)).toEqual([2, 3])
    expect(log.before).toEqual({ 0: 4, 1: 7 })
    expect(positionsAfter(log)).toEqual({ 0: 8, 1: 7 })
    expect(positionsAfter(log, 2)).toEqual({ 0: 6, 1: 7 })
    await writePasses(folder, log)
    expect(await readPasses(folder)).toEqual(log)
  })

  test('a line that is cut off, or missing, is named', async () => {
    const own = join(folder, 'damaged')
    await mkdir(own)
    await writePasses(own, { stream: 's', before: {}, passes: [pass(0), pass(1), pass(2)] })
    const text = await readFile(join(own, 'stream.jsonl'), 'utf8')
    await writeFile(join(own, 'stream.jsonl'), text.slice(0, -20))
    await expect(readPasses(own)).rejects.toMatchObject({ code: 'STREAM_POSITIONS', where: { line: 4 } })
    await writeFile(join(own, 'stream.jsonl'), text.split('\n').filter((_, i) => i !== 2).join('\n')) // biome-ignore format: one line
    await expect(readPasses(own)).rejects.toMatchObject({ code: 'STREAM_POSITIONS', where: { line: 3 } })
  })
})

test('a day ends with the clock; one that is set back brings no day back, one that leaps leaves days out', () => {
  let today = '20190720'
  const days = new StreamDays(() => today)
  expect(days.at(0)).toMatchObject({ day: '20190720', pass: 1 })
  days.log = [pass(0)]
  expect([days.next(), days.isDayOver]).toEqual([{ day: '20190720', pass: 2 }, false])
  today = '20190719'
  expect([days.next(), days.isDayOver]).toEqual([{ day: '20190720', pass: 2 }, false])
  today = '20190723'
  expect(days.isDayOver).toBe(true)
  days.log = [pass(0), pass(1, { isLast: true })]
  expect([days.next(), days.isDayOver]).toEqual([{ day: '20190723', pass: 1 }, false])
  today = '20190701'
  expect(days.next()).toEqual({ day: '20190721', pass: 1 })
  // Where training goes on: behind a pass, or behind the batch model of the day's end.
  expect(days.epochOf('20190720', 2) + 1).toBe(2)
  expect(days.epochOf('20190721', 1)).toBe(2)
})

test('a folder that grows gives whole lines, once each, and files that went are not missed', async () => {
  const data = join(folder, 'data')
  await mkdir(data)
  await writeFile(join(data, 'a'), 'one\ntwo\nthr')
  await writeFile(join(data, '.hidden'), 'x\n')
  await writeFile(join(data, 'c.gz'), 'x\n')
  const source = watchFolder([data])
  const first = await source.look({}, Number.POSITIVE_INFINITY)
  expect(first).toMatchObject({
    parts: { [join(data, 'a')]: [0, 8] },
    records: 2,
    rest: 0,
    warning: expect.stringContaining('c.gz'),
  })
  await appendFile(join(data, 'a'), 'ee\nfour\n')
  await writeFile(join(data, 'b'), 'five\n')
  const second = await source.look({ [join(data, 'a')]: 8 }, 2)
  expect(second).toMatchObject({ parts: { [join(data, 'a')]: [8, 19] }, records: 2, rest: 5 })
  const out = join(folder, 'out')
  await mkdir(out)
  await source.write(second.parts, out)
  expect(await readFile(join(out, 'part-00000'), 'utf8')).toBe('three\nfour\n')
  await rm(join(data, 'b'))
  expect(await source.look({ [join(data, 'a')]: 19, [join(data, 'b')]: 5 }, 9)).toMatchObject({ parts: {}, records: 0 })
  await writeFile(join(data, 'a'), 'one\n')
  await expect(source.look({ [join(data, 'a')]: 19 }, 9)).rejects.toMatchObject({ code: 'STREAM_GONE' })
})
