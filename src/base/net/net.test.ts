/** @file Transports by their contract; hello, requests, deadlines and heartbeats. */
import { execFile } from 'node:child_process'
import { mkdtempSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { describe, expect, test, vi } from 'vitest'
import { testTransport } from '../../../test/contracts/transport.ts'
import { createRng } from '../util/index.ts'
import { faultyTransport } from './faulty.testing.ts'
import { encodeHead, FrameReader } from './frame.ts'
import {
  agreedSilence,
  type Connection,
  clientHandshake,
  createSharedMemory,
  type Frame,
  type Identity,
  MAX_FRAME_BYTES,
  openSharedMemory,
  openTls,
  Peer,
  type PeerOptions,
  PROTOCOL_VERSION,
  reach,
  SharedConnection,
  serverHandshake,
  sharedBytes,
  socketTransport,
  splitEndpoint,
  type TlsKeys,
  type Transport,
} from './index.ts'
import { memoryTransport } from './memory.testing.ts'

testTransport({ name: 'TCP', open: () => socketTransport, endpoint: () => '127.0.0.1:0' })
testTransport({
  name: 'TLS with certificates of the job',
  open: () => encrypted(openTls('auto', { token: 'secret' })!),
  endpoint: () => '127.0.0.1:0',
})
testTransport({
  name: 'unix socket',
  open: () => socketTransport,
  endpoint: () => join(mkdtempSync(join(tmpdir(), 'oarfish-net-')), 'socket'),
})
testTransport({
  name: 'shared memory',
  open: sharedTransport,
  endpoint: () => join(mkdtempSync(join(tmpdir(), 'oarfish-net-')), 'socket'),
})
testTransport({ name: 'in-process', open: memoryTransport, endpoint: () => 'here' })
testTransport({
  name: 'faulty (without faults)',
  open: () => faultyTransport(memoryTransport(), { seed: 1 }),
  endpoint: () => 'here',
})

/** Sockets with keys. */
function encrypted(tls: TlsKeys, others = tls): Transport {
  return {
    listen: (endpoint, accept, options) => socketTransport.listen(endpoint, accept, { ...options, tls }),
    connect: (endpoint, options) => socketTransport.connect(endpoint, { ...options, tls: others }),
  }
}

/** Sockets whose bodies go through memory, without the hello in which both sides agree on it. */
function sharedTransport(bytes = 1024 * 1024): Transport {
  const memory = createSharedMemory(sharedBytes(bytes))!
  const share = (connection: Connection, side: 0 | 1) => {
    const shared = new SharedConnection(connection, side === 0 ? memory.buffer : openSharedMemory(memory.path)!, side)
    shared.limit(MAX_FRAME_BYTES)
    return shared
  }
  return {
    listen: async (endpoint, accept) => {
      const listener = await socketTransport.listen(endpoint, (connection) => accept(share(connection, 1)))
      const close = async () => {
        memory.unlink()
        await listener.close()
      }
      return { ...listener, close }
    },
    connect: async (endpoint, options) => share(await socketTransport.connect(endpoint, options), 0),
  }
}

describe('shared memory', () => {
  const head = { type: 'request', method: 1, id: 0 } as const
  async function openPair(bytes: number) {
    const transport = sharedTransport(bytes)
    const frames: Frame[] = []
    let far: Connection | undefined
    const { endpoint, close } = await transport.listen(
      join(mkdtempSync(join(tmpdir(), 'oarfish-net-')), 'socket'),
      (connection) => {
        far = connection
        far.listen({ frame: (frame) => frames.push(frame), closed: () => undefined })
      },
    )
    const near = await transport.connect(endpoint, { timeoutMs: 30_000 })
    near.listen({ frame: () => undefined, closed: () => undefined })
    return {
      near,
      frames,
      arrived: (count: number) => expect.poll(() => frames.length, { interval: 1 }).toBe(count),
      close: () => {
        near.close()
        far?.close()
        return close()
      },
    }
  }

  test('that is full lets bodies go over the socket, and takes them again once others are done with', async () => {
    const { near, frames, arrived, close } = await openPair(10_000)
    for (let i = 0; i < 5; i++) near.send(head, [new Uint8Array(3000).fill(i)])
    await arrived(5)
    expect(frames.map(({ release }) => release !== undefined)).toEqual([true, true, true, false, false])
    expect(frames.map(({ body }) => [body.length, body[0], body[2999]])).toEqual(
      [0, 1, 2, 3, 4].map((i) => [3000, i, i]),
    )
    // The second block is free only when the first is.
    frames[1]!.release!()
    near.send(head, [new Uint8Array(3000).fill(5)])
    await arrived(6)
    expect(frames[5]!.release).toBeUndefined()
    frames[0]!.release!()
    near.send(head, [new Uint8Array(5000).fill(6)])
    await arrived(7)
    expect(frames[6]!.release).toBeDefined()
    expect([frames[2]!.body[0], frames[6]!.body[4999]]).toEqual([2, 6])
    await close()
  })

  test('keeps every body whole while blocks come and go in any order', async () => {
    const { near, frames, arrived, close } = await openPair(64 * 1024)
    const rng = createRng(5n)
    const held: { frame: Frame; value: number }[] = []
    let throughMemory = 0
    for (let i = 0; i < 400; i++) {
      near.send(head, [new Uint8Array(1025 + rng.below(20_000)).fill(i & 255)])
      await arrived(1)
      held.push({ frame: frames.pop()!, value: i & 255 })
      if (held.at(-1)!.frame.release) throughMemory++
      while (held.length > rng.below(6)) {
        const [{ frame, value }] = held.splice(rng.below(held.length), 1) as [(typeof held)[0]]
        expect(frame.body.every((byte) => byte === value)).toBe(true)
        frame.release?.()
      }
    }
    expect(throughMemory).toBeGreaterThan(200)
    await close()
  })

  test('is not opened outside its folder', () => {
    expect(openSharedMemory('/etc/hosts')).toBeUndefined()
  })
})

test.skipIf(process.platform === 'win32')('a unix socket is its user’s alone, whatever the umask', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'oarfish-net-')), 's.sock')
  const before = process.umask(0)
  const listener = await socketTransport.listen(path, () => undefined).finally(() => process.umask(before))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await listener.close()
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
  const heard = new Promise<Awaited<ReturnType<typeof serverHandshake>>>((resolve, reject) => {
    void transport.listen('s', (connection) => serverHandshake(connection, server).then(resolve, reject))
  })
  heard.catch(() => undefined)
  const connection = await transport.connect('s', { timeoutMs: 30_000 })
  return { said: clientHandshake(connection, 'server[0] s', client), heard }
}

describe('hello', () => {
  test('a client waits for a server that is busy with others when it has said who it is: it must not come twice', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const transport = memoryTransport()
      const said: (() => void)[] = []
      await transport.listen('s', (connection) => {
        const send = connection.send.bind(connection)
        // Challenge and proof go at once; the answer when the test says so.
        connection.send = (...frame) => (said.push(() => send(...frame)) < 3 ? send(...frame) : undefined)
        void serverHandshake(connection, identity({ role: 'server' }))
      })
      const greeting = clientHandshake(await transport.connect('s', { timeoutMs: 1000 }), 'server[0] s', identity())
      while (said.length < 3) await new Promise((resolve) => setImmediate(resolve))
      await vi.advanceTimersByTimeAsync(30_000)
      said[2]!()
      expect(await greeting).toMatchObject({ role: 'server' })
    } finally {
      vi.useRealTimers()
    }
  })

  test('tells each side who the other is', async () => {
    const { said, heard } = await openHello(identity({ rank: 1 }), identity({ role: 'server', rank: 3 }))
    expect(await said).toMatchObject({ role: 'server', rank: 3 })
    expect(await heard).toMatchObject({ role: 'worker', rank: 1 })
    expect(await heard).not.toHaveProperty('token')
  })

  test('what is said right behind it is heard, though it came in the same piece', async () => {
    const abort = (connection: Connection) => new Peer(connection, { who: 'worker' }).abort(new Error('too late'))
    const listener = await socketTransport.listen('127.0.0.1:0', (connection) => {
      void serverHandshake(connection, identity({ role: 'server' })).then(() => abort(connection))
    })
    const connection = await socketTransport.connect(listener.endpoint, { timeoutMs: 30_000 })
    await clientHandshake(connection, 'server[0]', identity())
    const lost = new Promise<Error>((onLost) => new Peer(connection, { who: 'server[0]', onLost }))
    expect(await lost).toMatchObject({ message: 'too late' })
    await listener.close()
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

  test.each([
    [undefined, undefined, 10_000],
    [3500, undefined, 10_000],
    [3500, 3500, 3500],
    [3500, 25_000, 25_000],
  ])('of limits of silence of %s and %s both sides take %s ms', async (client, server, agreed) => {
    const [own, other] = [identity({ silenceMs: client }), identity({ role: 'server', silenceMs: server })]
    const { said, heard } = await openHello(own, other)
    expect(agreedSilence(own, await said)).toBe(agreed)
    expect(agreedSilence(other, await heard)).toBe(agreed)
  })

  test.each([
    [{ rank: -1 }, /hello\.rank: expected a whole number from 0/],
    [{ rank: 0.5 }, /hello\.rank/],
    [{ rank: '1' }, /hello\.rank/],
    [{ role: 'master' }, /hello\.role: expected worker \| server \| observer, got "master"/],
    [{ agreement: { config: 7 } }, /hello\.agreement\.config/],
    [{ jobId: null }, /hello\.jobId/],
  ])('one that knows the token and says %o is cut off', async (own, reason) => {
    const { heard } = await openHello(identity(own as object), identity({ role: 'server' }))
    await expect(heard).rejects.toMatchObject({ code: 'NET_STRANGER', message: expect.stringMatching(reason) })
  })

  /** Everything that a server sends to one who does not know the token. */
  async function overheard(say: readonly object[], server: Identity): Promise<string> {
    const transport = memoryTransport()
    const over = new Promise<void>((resolve) => {
      void transport.listen('s', (connection) =>
        serverHandshake(connection, server).catch(() => {
          connection.close()
          resolve()
        }),
      )
    })
    const connection = await transport.connect('s', { timeoutMs: 30_000 })
    let said = ''
    connection.listen({
      frame: ({ body }) => {
        said += Buffer.from(body).toString('utf8')
      },
      closed: () => undefined,
    })
    for (const word of say) connection.send({ type: 'hello', method: 0, id: 0 }, [Buffer.from(JSON.stringify(word))])
    await over
    await new Promise((resolve) => setTimeout(resolve, 50))
    return said
  }

  test('a stranger hears a number and "no", and nothing about the job', async () => {
    const server = identity({
      role: 'server',
      jobId: 'the-job',
      agreement: { 'list of servers': '10.0.0.1:7000', config: 'abc123' },
    })
    const wrong = { version: PROTOCOL_VERSION, nonce: '0'.repeat(32), proof: '0'.repeat(64) }
    const said = await overheard([wrong, { jobId: 'the-job', role: 'worker', rank: 0 }], server)
    expect(said).toMatch(/^\{"magic":"oarfish","version":\d+,"nonce":"[0-9a-f]{32}"\}\{\}$/)
    for (const word of ['{', '[]', 'null', '{"nonce":{}}'])
      expect(await overheard([JSON.parse(word === '{' ? '0' : word)], server)).not.toContain('the-job')
  })

  test('a server that does not know the token learns nothing about the job', async () => {
    const transport = memoryTransport()
    const heard: string[] = []
    await transport.listen('s', (connection) => {
      connection.listen({
        frame: ({ body }) => heard.push(Buffer.from(body).toString('utf8')),
        closed: () => undefined,
      })
      const challenge = { magic: 'oarfish', version: PROTOCOL_VERSION, nonce: 'ab'.repeat(16) }
      for (const word of [challenge, { proof: '0'.repeat(64) }])
        connection.send({ type: 'hello', method: 0, id: 0 }, [Buffer.from(JSON.stringify(word))])
    })
    const connection = await transport.connect('s', { timeoutMs: 30_000 })
    await expect(clientHandshake(connection, 'server[0] s', identity({ jobId: 'the-job' }))).rejects.toMatchObject({
      code: 'NET_REFUSED',
      message: expect.stringContaining('it does not know the job token'),
    })
    await expect.poll(() => heard).toHaveLength(1)
    expect(heard[0]).not.toMatch(/the-job|worker|secret|rank/)
  })

  test('what one side proved is of no use to the other, nor on another connection', async () => {
    // Somebody in between who sends a server's own words back to it.
    const transport = memoryTransport()
    const heard = new Promise((resolve) => {
      void transport.listen('s', (connection) =>
        serverHandshake(connection, identity({ role: 'server' })).catch(resolve),
      )
    })
    const client = await transport.connect('s', { timeoutMs: 30_000 })
    client.listen({
      frame: ({ body }) => {
        const { nonce } = JSON.parse(Buffer.from(body).toString('utf8'))
        const echo = { version: PROTOCOL_VERSION, nonce, proof: '0'.repeat(64) }
        if (nonce) client.send({ type: 'hello', method: 0, id: 0 }, [Buffer.from(JSON.stringify(echo))])
      },
      closed: () => undefined,
    })
    expect(await heard).toMatchObject({ code: 'NET_STRANGER' })
  })

  test('over TLS tells each side who the other is; another token, or no TLS, is refused at once and named', async () => {
    const tls = openTls('auto', { token: 'secret' })!
    const others = openTls('auto', { token: 'other' })!
    const greet = async (keys: TlsKeys | undefined) => {
      const transport = keys ? encrypted(tls, keys) : encrypted(tls)
      const { endpoint, close } = await transport.listen('127.0.0.1:0', (connection) => {
        serverHandshake(connection, identity({ role: 'server', rank: 3 })).catch(() => connection.close())
      })
      const options = { endpoint, who: `server[3]`, timeoutMs: 20_000 }
      const greeting = reach({
        ...options,
        transport: keys ? transport : socketTransport,
        greet: (connection) => clientHandshake(connection, 'server[3]', identity()).finally(() => connection.close()),
      })
      return await greeting.finally(close)
    }
    expect((await greet(tls)).greeting).toMatchObject({ role: 'server', rank: 3 })
    await expect(greet(others)).rejects.toMatchObject({
      code: 'NET_REFUSED',
      message: expect.stringContaining('not signed by the authority of the other side'),
    })
    const plainServer = await socketTransport.listen('127.0.0.1:0', (connection) => {
      serverHandshake(connection, identity({ role: 'server' })).catch(() => connection.close())
    })
    await expect(socketTransport.connect(plainServer.endpoint, { timeoutMs: 20_000, tls })).rejects.toMatchObject({
      code: 'NET_REFUSED',
      message: expect.stringContaining('one side encrypts and the other does not'),
    })
    await plainServer.close()
  })

  test('over TLS says nothing, not even a number, to one without a certificate of the job', async () => {
    const tls = openTls('auto', { token: 'secret' })!
    const listener = await socketTransport.listen(
      '127.0.0.1:0',
      (connection) => void serverHandshake(connection, identity({ role: 'server' })).catch(() => connection.close()),
      { tls },
    )
    const { host, port } = splitEndpoint(listener.endpoint)
    const socket = connectTls({ host, port, rejectUnauthorized: false })
    const heard: Buffer[] = []
    socket.on('data', (piece) => heard.push(piece)).on('error', () => undefined)
    await new Promise((closed) => socket.once('close', closed))
    expect(heard).toEqual([])
    await listener.close()
  })

  test('over TLS is bound to that connection: somebody in between with a certificate of the job is found out', async () => {
    const keys = () => openTls('auto', { token: 'secret' })!
    const server = await encrypted(keys()).listen('127.0.0.1:0', (connection) => {
      serverHandshake(connection, identity({ role: 'server' })).catch(() => connection.close())
    })
    // Relays every frame between two encrypted connections of its own.
    const between = await encrypted(keys()).listen('127.0.0.1:0', (near) => {
      void encrypted(keys())
        .connect(server.endpoint, { timeoutMs: 20_000 })
        .then((far) => {
          near.listen({ frame: (frame) => far.send(frame, [frame.body]), closed: () => far.close() })
          far.listen({ frame: (frame) => near.send(frame, [frame.body]), closed: () => near.close() })
        })
    })
    const connection = await encrypted(keys()).connect(between.endpoint, { timeoutMs: 20_000 })
    await expect(clientHandshake(connection, 'server[0]', identity())).rejects.toMatchObject({
      code: 'NET_REFUSED',
      message: expect.stringContaining('token differs'),
    })
    connection.close()
    await Promise.all([server.close(), between.close()])
  })

  test('something else than an Oarfish process is cut off', async () => {
    const ended = new Promise<unknown>((resolve) => {
      void socketTransport
        .listen('127.0.0.1:0', (connection) => serverHandshake(connection, identity()).catch(resolve))
        .then(({ endpoint }) => connect(splitEndpoint(endpoint)).end('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
    })
    const message = expect.stringMatching(/was refused: it does not speak as a process of a job does .*not a frame/)
    expect(await ended).toMatchObject({ code: 'NET_STRANGER', message })
  })
})

async function openPeers(near: Partial<PeerOptions>, far: Partial<PeerOptions>) {
  const transport = memoryTransport()
  const accepted = new Promise<Connection>((resolve) => {
    void transport.listen('s', resolve)
  })
  const connection = await transport.connect('s', { timeoutMs: 30_000 })
  return {
    near: new Peer(connection, { who: 'server[0]', ...near }),
    farConnection: await accepted,
    openFar: async () => new Peer(await accepted, { who: 'worker[0]', ...far }),
  }
}

const asked = { timeoutMs: 30_000, what: 'pull(5 signs)' }

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
    await expect(near.request(1, [], { ...asked, timeoutMs: 300 })).rejects.toMatchObject({
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
    await expect.poll(() => events).toEqual(['lost', 'bye'])
  })

  test('that has drained may end at once: nothing it sent is lost', async () => {
    const tls = openTls('auto', { token: 'secret' })!
    const heard: string[] = []
    await new Promise<void>((resolve) => {
      const accept = (connection: Connection) =>
        connection.listen({ frame: ({ type }) => void heard.push(type), closed: () => resolve() })
      void socketTransport
        .listen('127.0.0.1:0', accept, { tls })
        .then(({ endpoint }) => execFile(process.execPath, ['--input-type=module', '-e', sender(endpoint)]))
    })
    // An encrypted socket takes one after the other: but for the first they wait in the process.
    expect(heard).toEqual(['ping', 'ping', 'ping', 'bye'])
  })

  const sender = (endpoint: string) => `
    import { openTls, socketTransport } from '${new URL('../../../dist/base/net/index.js', import.meta.url)}'
    const tls = openTls('auto', { token: 'secret' })
    const connection = await socketTransport.connect('${endpoint}', { timeoutMs: 20_000, tls })
    for (const type of ['ping', 'ping', 'ping', 'bye']) connection.send({ type, method: 0, id: 0 }, [])
    connection.close()
    await connection.drained()
    process.exit()`

  test.each([
    ['a request to one that answers none', { type: 'request', method: 1, id: 1 }, 'x'],
    ['a second hello', { type: 'hello', method: 0, id: 0 }, '{}'],
    ['a reason that is none', { type: 'abort', method: 0, id: 0 }, '{"name":7}'],
    ['a reason that is no JSON', { type: 'abort', method: 0, id: 0 }, '{'],
  ] as const)('that says %s is cut off', async (_, head, body) => {
    const lost = new Promise<Error>((onLost) => {
      void openPeers({ onLost }, {}).then(({ farConnection }) => {
        farConnection.listen({ frame: () => undefined, closed: () => undefined })
        farConnection.send(head, [Buffer.from(body)])
      })
    })
    expect((await lost).message).toMatch(/server\[0\] is gone: it was cut off, since it said what it may not say/)
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
