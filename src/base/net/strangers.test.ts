import { expect, test } from 'vitest'
import { peerLost } from './errors.ts'
import { Strangers } from './strangers.ts'
import type { Connection } from './transport.ts'

test('who is refused is told once a second, with how many others were', () => {
  const told: string[] = []
  let now = 0
  const strangers = new Strangers({ onWarning: (message) => void told.push(message), now: () => now })
  for (; now < 2500; now += 100) strangers.refused('10.0.0.9:1', new Error(`at ${now}`))
  expect(told).toEqual([
    'A connection was refused: Error: at 0',
    'A connection was refused (and 9 more since the last such line): Error: at 1000',
    'A connection was refused (and 9 more since the last such line): Error: at 2000',
  ])
})

test('a host that is refused 20 times in a second is not listened to until the second is over; others are', () => {
  let now = 0
  const strangers = new Strangers({ onWarning: () => undefined, now: () => now })
  for (let port = 1; port <= 20; port++) {
    expect(strangers.isTooOften(`10.0.0.9:${port}`)).toBe(false)
    strangers.refused(`10.0.0.9:${port}`, new Error('no'))
  }
  expect(strangers.isTooOften('10.0.0.9:99')).toBe(true)
  expect(strangers.isTooOften('10.0.0.8:99')).toBe(false)
  now = 1000
  expect(strangers.isTooOften('10.0.0.9:99')).toBe(false)
})

test('a flood is a line in every second of it, and the lines count all that came, also those that nobody listened to', () => {
  const lines: string[] = []
  let now = 990 // of a second of the clock
  const strangers = new Strangers({ onWarning: (message) => void lines.push(message), now: () => now })
  const comes = () => {
    if (strangers.isTooOften('10.0.0.9:1')) strangers.dropped()
    else strangers.refused('10.0.0.9:1', new Error('no'))
  }
  for (; now < 10_990; now++) comes()
  comes()
  expect(lines).toHaveLength(11)
  const others = lines.map((line) => Number(/and (\d+) more/.exec(line)?.[1] ?? 0))
  expect(others.reduce((sum, each) => sum + each) + lines.length).toBe(10_001)
})

test('one that leaves during its hello ends nothing, and no line says so', () => {
  const told: string[] = []
  const strangers = new Strangers({ onWarning: (message) => void told.push(message) })
  strangers.refused('10.0.0.9:1', peerLost('10.0.0.9:1', 'it closed the connection during the hello'))
  expect(told).toEqual([
    'A connection was refused: 10.0.0.9:1 is gone: it closed the connection during the hello; the job goes on without it',
  ])
})

test('one host may have 128 connections that have proved nothing; those that have do not count', () => {
  const strangers = new Strangers({ onWarning: () => undefined })
  const entered = Array.from({ length: 128 }, (_, port) => strangers.entering(`10.0.0.9:${port}`))
  expect([strangers.isWanted('10.0.0.9:999'), strangers.isWanted('10.0.0.8:999')]).toEqual([false, true])
  entered[0]!()
  expect(strangers.isWanted('10.0.0.9:999')).toBe(true)
})

test('all hosts together may have 1,024 of them', () => {
  const strangers = new Strangers({ onWarning: () => undefined })
  const entered = Array.from({ length: 1024 }, (_, i) => strangers.entering(`10.0.${i >> 4}.9:${i}`))
  expect(strangers.isWanted('10.1.0.1:999')).toBe(false)
  entered[0]!()
  expect(strangers.isWanted('10.1.0.1:999')).toBe(true)
})

test('where hosts are named, others hear no before they have said anything; this host and its names do not', async () => {
  const told: string[] = []
  const strangers = new Strangers({
    onWarning: (message) => void told.push(message),
    hosts: ['192.0.2.7', 'localhost'],
  })
  const come = async (remote: string) => {
    const sent: string[] = []
    const connection = {
      remote,
      send: (_: unknown, [body]: readonly Uint8Array[]) => void sent.push(Buffer.from(body!).toString('utf8')),
      close: () => void sent.push('closed'),
    } as unknown as Connection
    let admitted = false
    await strangers.guard(connection, async () => {
      admitted = true
    })
    return { admitted, sent }
  }
  expect(await come('192.0.2.7:1')).toEqual({ admitted: true, sent: [] })
  expect(await come('::ffff:192.0.2.7:1')).toMatchObject({ admitted: true })
  expect(await come('127.0.0.1:1')).toMatchObject({ admitted: true })
  expect(await come('(this host)')).toMatchObject({ admitted: true })
  const { admitted, sent } = await come('192.0.2.8:1')
  expect(admitted).toBe(false)
  expect(sent[0]).toMatch(/^\{"magic":"oarfish","version":\d+,"nonce":"","no":true\}$/)
  expect(sent).toContain('closed')
  expect(told[0]).toContain('the job does not name its address')
})
