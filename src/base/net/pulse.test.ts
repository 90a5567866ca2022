/** @file The pulse of a process: heard while its main thread is busy, by those of its job alone; what a peer makes of it. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Identity } from './handshake.ts'
import { Liveness } from './liveness.ts'
import { Pulse, type PulseReading } from './pulse.ts'
import { splitEndpoint } from './socket.ts'
import { openTls } from './tls-keys.ts'

const opened: Pulse[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((pulse) => pulse.close()))
})

const EVERY_MS = 50
const server: Identity = { jobId: 'job', token: 'secret', role: 'server', rank: 0, agreement: {} }
const worker: Identity = { ...server, role: 'worker', rank: 1 }

/** A server's pulse, and that of worker 1 of 2, which hears it. */
async function openPair({ own = worker, path = true }: { readonly own?: Identity; readonly path?: boolean } = {}) {
  const warnings: string[] = []
  const shared = { everyMs: EVERY_MS, onWarning: (message: string) => warnings.push(message) }
  const { tls } = own
  const heard = await Pulse.open({ identity: { ...server, tls }, others: 2, host: '127.0.0.1', ...shared })
  const hearing = await Pulse.open({ identity: own, others: 1, ...shared })
  opened.push(heard, hearing)
  const place = path ? heard.place! : { endpoint: heard.place!.endpoint }
  hearing.hear({ ...place, other: 0, who: 'server[0]' })
  return { heard, hearing, warnings }
}

/** This thread does nothing else meanwhile, as in a long native call. */
const busy = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

describe('a pulse', () => {
  test.each([
    ['a unix socket', true, undefined],
    ['TCP', false, undefined],
    ['TLS', false, openTls('auto', { token: 'secret' })],
  ])(
    'over %s is heard on both sides while both main threads are busy, and says that they are',
    async (_, path, tls) => {
      const { heard, hearing, warnings } = await openPair({ own: { ...worker, tls }, path })
      await expect.poll(() => [heard.of(1).beats > 2, hearing.of(0).beats > 2]).toEqual([true, true])
      expect(heard.of(0).beats).toBe(0)
      const before = [heard.of(1).beats, hearing.of(0).beats] as const
      busy(2000)
      const [ofWorker, ofServer] = [heard.of(1), hearing.of(0)]
      // 40 of them on a quiet machine.
      expect(ofWorker.beats - before[0]).toBeGreaterThan(5)
      expect(ofServer.beats - before[1]).toBeGreaterThan(5)
      expect(ofWorker.stuckMs).toBeGreaterThan(200)
      expect(ofServer.stuckMs).toBeGreaterThan(200)
      await expect.poll(() => [heard.of(1).stuckMs, hearing.of(0).stuckMs]).toEqual([0, 0])
      expect(warnings).toEqual([])
    },
  )

  test('of a process of another job is not heard, and both say why', async () => {
    const { heard, hearing, warnings } = await openPair({ own: { ...worker, token: 'other' }, path: false })
    await expect.poll(() => warnings.join('\n')).toContain('A connection was refused: ')
    await expect.poll(() => warnings.join('\n')).toMatch(/The pulse of server\[0\] is not heard.*its job token differs/)
    await expect.poll(() => warnings.join('\n')).toContain('raise runner.silence_limit')
    expect([heard.of(1).beats, hearing.of(0).beats]).toEqual([0, 0])
  })

  test('of a worker that the job does not have is not heard', async () => {
    const { warnings } = await openPair({ own: { ...worker, rank: 2 }, path: false })
    await expect.poll(() => warnings.join('\n')).toContain('its pulse is of no interest here')
  })

  test('is heard again when its connection broke', async () => {
    const own = { identity: server, others: 2, host: '127.0.0.1', everyMs: EVERY_MS, onWarning: () => undefined }
    const heard = await Pulse.open(own)
    const hearing = await Pulse.open({ identity: worker, others: 1, everyMs: EVERY_MS, onWarning: () => undefined })
    opened.push(heard, hearing)
    const ways: Socket[] = []
    const relay = createServer((socket) => {
      const onward = connect(splitEndpoint(heard.place!.endpoint))
      for (const one of [socket, onward]) one.on('error', () => undefined)
      ways.push(socket, onward)
      socket.pipe(onward).pipe(socket)
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    hearing.hear({ endpoint: `127.0.0.1:${(relay.address() as AddressInfo).port}`, other: 0, who: 'server[0]' })
    await expect.poll(() => hearing.of(0).beats).toBeGreaterThan(2)
    for (const way of ways.splice(0)) way.destroy()
    const { beats } = hearing.of(0)
    await expect.poll(() => hearing.of(0).beats).toBeGreaterThan(beats + 5)
    expect(ways).toHaveLength(2)
    relay.close()
  })
})

describe('a process counts as', () => {
  const alive = (reading: Partial<PulseReading>) => ({ beats: 0, stuckMs: 0, longestMs: 0, ...reading })

  /** What is said of a process whose pulse reads as `pulse` says, looked at every 20 ms. */
  async function verdict(limits: object, pulse: (look: number) => Partial<PulseReading>, looks = 200) {
    let look = 0
    const told: string[] = []
    const onStuck = (message: string) => told.push(message)
    const liveness = new Liveness({ who: 'server[0]', ...limits, pulse: () => alive(pulse(look)), onStuck })
    for (; look < looks; look++) {
      const end = liveness.look(0)
      if (end) return { end: end.message, told }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return { end: undefined, told }
  }

  test('silent without a pulse', async () => {
    const { end } = await verdict({ deadAfterMs: 300 }, () => ({ beats: 7 }))
    expect(end).toMatch(/^server\[0\] is gone: no sign of life for \d+ ms$/)
  })

  test('silent too where its pulse ended a moment after the last frame', async () => {
    const { end } = await verdict({ deadAfterMs: 2500 }, (look) => ({ beats: Math.min(look, 10) }))
    expect(end).toMatch(/no sign of life/)
  })

  test('busy, for longer than silence may last, where its pulse says so, and that is told once', async () => {
    const pulse = (look: number) => ({ beats: look, stuckMs: 5000 })
    const { end, told } = await verdict({ deadAfterMs: 300 }, pulse, 60)
    expect(end).toBeUndefined()
    expect(told).toEqual(['server[0] lives, but its main thread has not run for 5 s; the job waits for it.'])
  })

  test('stuck after the limit of answers', async () => {
    const limits = { deadAfterMs: 300, stuckAfterMs: 1000 }
    const { end } = await verdict(limits, (look) => ({ beats: look, stuckMs: 60 * look }))
    expect(end).toBe('server[0] is gone: its process lives, but its main thread has not run for 1 s')
  })

  test('cut off where its main thread runs and nothing comes over the connection', async () => {
    const { end } = await verdict({ deadAfterMs: 300 }, (look) => ({ beats: look }))
    expect(end).toMatch(/^server\[0\] is gone: its process lives, but nothing came over its connection for \d+ ms$/)
  })
})
