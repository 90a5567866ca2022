/** @file Transports by their contract; hello, requests, deadlines and heartbeats. */
import { mkdtempSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { testTransport } from '../../test/contracts/transport.ts'
import { encodeHead, FrameReader } from './frame.ts'
import {
  type Connection,
  type Frame,
  faultyTransport,
  hearHello,
  type Identity,
  memoryTransport,
  Peer,
  type PeerOptions,
  sayHello,
  socketTransport,
  splitEndpoint,
} from './index.ts'

testTransport({ name: 'TCP', open: () => socketTransport, endpoint: () => '127.0.0.1:0' })
testTransport({
  name: 'unix socket',
  open: () => socketTransport,
  endpoint: () => join(mkdtempSync(join(tmpdir(), 'oarfish-net-')), 'socket'),
})
testTransport({ name: 'in-process', open: memoryTransport, endpoint: () => 'here' })
testTransport({
  name: 'faulty (without faults)',
  open: () => faultyTransport(memoryTransport(), { seed: 1 }),
  endpoint: () => 'here',
})

describe('frames', () => {
  const frame = () => {
    const body = new Uint8Array(40).fill(5)
    return Buffer.concat([encodeHead({ type: 'request', method: 2, id: 9 }, [body]), body])
  }

  test('come together from pieces of any size', () => {
    for (const size of [1, 3, 16, 17, 56, 1000]) {
      const got: Frame[] = []
      const reader = new FrameReader(100, (one) => got.push(one))
      const stream = Buffer.concat([frame(), frame()])
      for (let at = 0; at < stream.length; at += size) reader.push(stream.subarray(at, at + size))
      expect(got.map(({ type, method, id, body }) => [type, method, id, body.length])).toEqual([
        ['request', 2, 9, 40],
        ['request', 2, 9, 40],
      ])
    }
  })

  test.each([8, 9, 12, 16, 30, 55])('with byte %i altered are refused', (at) => {
    const altered = frame()
    altered[at]! ^= 1
    const reader = new FrameReader(100, () => undefined)
    expect(() => reader.push(altered)).toThrow(/damaged|not a frame/)
  })
})

const identity = (own: Partial<Identity> = {}): Identity => ({
  ...{ jobId: 'a', token: 'secret', role: 'worker', rank: 0, agreement: { 'number of workers': '2' } },
  ...own,
})

async function openHello(client: Identity, server: Identity) {
  const transport = memoryTransport()
  const heard = new Promise<Awaited<ReturnType<typeof hearHello>>>((resolve, reject) => {
    void transport.listen('s', (connection) => hearHello(connection, server).then(resolve, reject))
  })
  heard.catch(() => undefined)
  const connection = await transport.connect('s', { timeoutMs: 100 })
  return { said: sayHello(connection, 'server[0] s', client), heard }
}

describe('hello', () => {
  test('tells each side who the other is', async () => {
    const { said, heard } = await openHello(identity({ rank: 1 }), identity({ role: 'server', rank: 3 }))
    expect(await said).toMatchObject({ role: 'server', rank: 3 })
    expect(await heard).toMatchObject({ role: 'worker', rank: 1 })
    expect(await heard).not.toHaveProperty('token')
  })

  test.each([
    [{ jobId: 'b' }, 'it belongs to job "b", this server to job "a"'],
    [{ token: 'other' }, 'its job token differs'],
    [{ agreement: { 'number of workers': '3' } }, 'its number of workers differs (3 there, 2 at server[0])'],
  ])('a client with %o is refused and both sides are told why', async (own, reason) => {
    const { said, heard } = await openHello(identity(own), identity({ role: 'server' }))
    await expect(said).rejects.toMatchObject({ code: 'NET_REFUSED', message: expect.stringContaining(reason) })
    await expect(heard).rejects.toMatchObject({ code: 'NET_STRANGER', message: expect.stringContaining(reason) })
  })

  test('something else than an Oarfish process is cut off', async () => {
    const ended = new Promise<unknown>((resolve) => {
      void socketTransport
        .listen('127.0.0.1:0', (connection) => hearHello(connection, identity()).catch(resolve))
        .then(({ endpoint }) => connect(splitEndpoint(endpoint)).end('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
    })
    expect(await ended).toMatchObject({ code: 'NET_PEER_LOST' })
  })
})

async function openPeers(near: Partial<PeerOptions>, far: Partial<PeerOptions>) {
  const transport = memoryTransport()
  const accepted = new Promise<Connection>((resolve) => {
    void transport.listen('s', resolve)
  })
  const connection = await transport.connect('s', { timeoutMs: 100 })
  return {
    near: new Peer(connection, { who: 'server[0]', ...near }),
    farConnection: await accepted,
    openFar: async () => new Peer(await accepted, { who: 'worker[0]', ...far }),
  }
}

const asked = { timeoutMs: 300, what: 'pull(5 signs)' }

describe('a peer', () => {
  test('answers requests in any order and passes errors on as they were', async () => {
    const handle: PeerOptions['handle'] = async (method, body) => {
      if (method === 9) throw new TypeError('no such table')
      await new Promise((resolve) => setTimeout(resolve, 20 - method))
      return [body]
    }
    const { near, openFar } = await openPeers({}, { handle })
    await openFar()
    const answers = await Promise.all([1, 15].map((method) => near.request(method, [Uint8Array.of(method)], asked)))
    expect(answers.map(([first]) => first)).toEqual([1, 15])
    await expect(near.request(9, [], asked)).rejects.toMatchObject({ name: 'TypeError', message: 'no such table' })
    near.leave()
  })

  test('that is alive and does not answer is named, with what it was asked', async () => {
    const { near, openFar } = await openPeers({}, { handle: () => new Promise(() => undefined) })
    await openFar()
    await expect(near.request(1, [], asked)).rejects.toMatchObject({
      code: 'NET_NO_ANSWER',
      message: 'server[0]: no answer to pull(5 signs) in 300 ms, though it is alive',
    })
    near.leave()
  })

  test('that is silent counts as dead', async () => {
    const lost = new Promise<Error>((onLost) => {
      void openPeers({ onLost, deadAfterMs: 400 }, {}).then(({ farConnection }) =>
        farConnection.listen({ frame: () => undefined, closed: () => undefined }),
      )
    })
    expect((await lost).message).toMatch(/server\[0\] is gone: no sign of life for \d+ ms/)
  })

  test('that closes without a good-bye is lost, with one it is not', async () => {
    const events: string[] = []
    const listen = { onLost: () => events.push('lost'), onBye: () => events.push('bye') }
    const first = await openPeers(listen, {})
    first.farConnection.close()
    const second = await openPeers(listen, {})
    ;(await second.openFar()).leave()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(events).toEqual(['lost', 'bye'])
  })

  test('that gives up says why to the other side', async () => {
    const lost = new Promise<Error>((onLost) => {
      void openPeers({ onLost }, {}).then(async ({ openFar }) =>
        (await openFar()).abort(new Error('worker[3] is gone')),
      )
    })
    expect((await lost).message).toBe('worker[3] is gone')
  })
})
