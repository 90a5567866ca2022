import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { Crowd } from './crowd.ts'
import { socketTransport } from './socket.ts'
import type { Connection, Door } from './transport.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Counts those that Node took, and those that were dropped. */
function countingDoor() {
  const seen = { taken: 0, dropped: 0, open: false }
  const door: Door = {
    isWanted: () => {
      seen.taken++
      return seen.open
    },
    entering: () => () => undefined,
    refused: () => undefined,
    dropped: () => void seen.dropped++,
  }
  return { door, seen }
}

/** Resolves when it was closed by the other side. */
function knock(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write('hello')
  socket.resume()
  return new Promise((closed) => socket.once('close', () => closed()))
}

const STRANGERS = 300
const together = (port: number) => Promise.all(Array.from({ length: STRANGERS }, () => knock(port)))
const portOf = (endpoint: string) => Number(endpoint.split(':').at(-1))

test.runIf(process.platform === 'linux')(
  'a crowd is turned away without Node; each is counted, those that are in stay, and it opens again',
  { timeout: 60_000 },
  async () => {
    const { door, seen } = countingDoor()
    const inside: Connection[] = []
    const listener = await socketTransport.listen('127.0.0.1:0', (one) => void inside.push(one), { door })
    closing.push(() => listener.close())
    const port = portOf(listener.endpoint)
    seen.open = true
    const friend = connect(port, '127.0.0.1')
    closing.push(() => friend.destroy())
    await expect.poll(() => inside.length).toBe(1)
    seen.open = false
    await together(port)
    await expect.poll(() => seen.dropped).toBe(STRANGERS)
    expect(seen.taken).toBeLessThan(STRANGERS / 2)
    // The friend never noticed, and another comes in when the second is over.
    const heard = new Promise<string>((resolve) => friend.once('data', (piece) => resolve(piece.toString('latin1'))))
    inside[0]!.send({ type: 'ping', method: 0, id: 0 }, [Buffer.from('still here')])
    expect(await heard).toContain('still here')
    seen.open = true
    const later: Socket[] = []
    closing.push(() => later.map((socket) => socket.destroy()))
    const comes = () => {
      later.push(connect(port, '127.0.0.1').on('error', () => undefined))
      return inside.length
    }
    await expect.poll(comes, { timeout: 20_000, interval: 200 }).toBeGreaterThan(1)
    for (const one of inside) one.close()
  },
)

test('one that is closed while a crowd comes is closed, and listens no more', { timeout: 60_000 }, async () => {
  const { door, seen } = countingDoor()
  const listener = await socketTransport.listen('127.0.0.1:0', () => undefined, { door })
  const port = portOf(listener.endpoint)
  await together(port)
  expect(seen.dropped).toBe(STRANGERS)
  await listener.close()
  const refused = new Promise<string>((resolve) =>
    connect(port, '127.0.0.1').once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? '')),
  )
  expect(await refused).toBe('ECONNREFUSED')
})

test('where the queue cannot be emptied, Node drops one by one', { timeout: 60_000 }, async () => {
  let [taken, dropped] = [0, 0]
  const server: Server = createServer((socket) => {
    taken++
    socket.resetAndDestroy()
    crowd.turnedAway()
  })
  const crowd = new Crowd(
    server,
    () => void dropped++,
    () => undefined,
  )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  closing.push(() => {
    crowd.close()
    server.close()
  })
  await together((server.address() as { port: number }).port)
  expect(dropped).toBe(STRANGERS)
  expect(taken).toBeLessThan(STRANGERS / 2)
})
