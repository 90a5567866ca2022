/** @file How the accepting side of an encrypted connection reads: into one buffer, in order, and nothing while it is paused. */
import { createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openTls } from './tls-keys.ts'
import { connectTls, Inlet, readDirectly, tlsAcceptor } from './tls-socket.ts'

const open: { destroy(): unknown }[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.destroy()
})

/** Both ends of an encrypted connection: Node made the first. */
async function pair(): Promise<{ accepted: Socket; connected: Socket }> {
  const keys = openTls('auto', { token: 'a token of this test' })!
  const server = createServer()
  const accepted = new Promise<Socket>((opened) => {
    server.on('connection', tlsAcceptor({ keys, door: undefined, opened, remoteOf: () => 'here' }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const connected = connectTls({ host: '127.0.0.1', port }, keys, new Inlet())
  const sockets = { accepted: await accepted, connected }
  open.push(sockets.accepted, connected, { destroy: () => server.close() })
  return sockets
}

const MEGABYTE = 1 << 20

test('pieces come in one buffer that is used again, which is what this version of Node must allow', async () => {
  const { accepted, connected } = await pair()
  const buffers = new Set<ArrayBufferLike>()
  let bytes = 0
  await new Promise<void>((done) => {
    readDirectly(accepted, (piece) => {
      buffers.add(piece.buffer)
      bytes += piece.byteLength
      if (bytes === MEGABYTE) done()
    })
    connected.write(Buffer.alloc(MEGABYTE, 7))
  })
  expect(buffers.size).toBe(1)
})

test('nothing comes while it is paused, and then all of it in order; the end is heard', async () => {
  const { accepted, connected } = await pair()
  const sent = Buffer.alloc(4 * MEGABYTE)
  for (let at = 0; at < sent.length; at += 4) sent.writeUInt32LE(at, at)
  const pieces: Buffer[] = []
  let isPaused = false
  const whenPaused: boolean[] = []
  readDirectly(accepted, (piece) => {
    whenPaused.push(isPaused)
    pieces.push(Buffer.from(piece))
    if (pieces.length % 50 !== 0) return
    accepted.pause()
    isPaused = true
    setTimeout(() => {
      isPaused = false
      accepted.resume()
    }, 20)
  })
  connected.end(sent)
  await new Promise((done) => accepted.once('end', done))
  expect(Buffer.concat(pieces).equals(sent)).toBe(true)
  expect(whenPaused.filter(Boolean).length).toBeLessThan(pieces.length / 4)
})
