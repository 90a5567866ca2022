/** @file What every transport must do: one suite, called once per transport. */
import { describe, expect, test } from 'vitest'
import { type Connection, type Frame, MAX_FRAME_BYTES, type Transport } from '../../src/base/net/index.ts'

export interface TransportForm {
  readonly name: string
  readonly open: () => Transport
  /** An endpoint to listen at. */
  readonly endpoint: () => string
}

export function testTransport({ name, open, endpoint }: TransportForm): void {
  describe(`the ${name} transport`, () => {
    test('delivers frames whole and in order, both ways, bodies aligned to eight bytes', async () => {
      const { near, far, close } = await openPair(open(), endpoint())
      const sizes = [0, 1, 7, 8, 100, 20_000, 300_000, 256 * 1024, 5, 70_000, 1_300_000, 2, 150_000, 110_000, 4]
      for (const [id, size] of sizes.entries()) near.send(head(id), [bytes(size, id), new Uint8Array(0), bytes(3, 9)])
      far.send(head(77), [bytes(5, 1)])
      const got = await far.take(sizes.length)
      expect(got.map(({ id, body }) => [id, body.byteLength])).toEqual(sizes.map((size, id) => [id, size + 3]))
      for (const { id, body } of got) {
        expect(body.byteOffset % 8).toBe(0)
        expect(body.every((value, i) => value === (i < sizes[id]! ? id : 9))).toBe(true)
      }
      expect((await near.take(1))[0]).toMatchObject({ type: 'request', method: 3, id: 77 })
      await close()
    })

    test('tells both sides once when one closes', async () => {
      const { near, far, close } = await openPair(open(), endpoint())
      near.close()
      expect(await far.closed).toBeUndefined()
      expect(await near.closed).toBeUndefined()
      await close()
    })

    test('holds frames back while paused', async () => {
      const { near, far, close } = await openPair(open(), endpoint())
      far.connection.pause()
      near.send(head(1), [bytes(10, 1)])
      await new Promise((resolve) => setTimeout(resolve, 50))
      const before = far.frames.length
      far.connection.resume()
      await far.take(1)
      expect(before).toBe(0)
      await close()
    })

    test('closes on a frame over the limit', async () => {
      const { near, far, close } = await openPair(open(), endpoint())
      far.connection.limit(100)
      near.send(head(1), [bytes(101, 1)])
      await far.closed
      expect(far.frames).toEqual([])
      await close()
    })

    test('refuses a connection where nobody listens', async () => {
      const transport = open()
      const listener = await transport.listen(endpoint(), () => undefined)
      await listener.close()
      await expect(transport.connect(listener.endpoint, { timeoutMs: 2000 })).rejects.toThrow()
    })
  })
}

const head = (id: number) => ({ type: 'request', method: 3, id }) as const
const bytes = (size: number, value: number) => new Uint8Array(size).fill(value)

async function openPair(transport: Transport, endpoint: string) {
  let accept = (_: Connection) => {}
  const accepted = new Promise<Connection>((resolve) => {
    accept = resolve
  })
  const listener = await transport.listen(endpoint, (connection) => accept(connection))
  const near = watch(await transport.connect(listener.endpoint, { timeoutMs: 30_000 }))
  const far = watch(await accepted)
  const close = async () => {
    near.close()
    far.close()
    await listener.close()
  }
  return { near, far, close }
}

function watch(connection: Connection) {
  connection.limit(MAX_FRAME_BYTES)
  const frames: Frame[] = []
  let wake = () => {}
  const closed = new Promise<Error | undefined>((resolve) => {
    connection.listen({
      frame: (frame) => {
        frames.push(frame)
        wake()
      },
      closed: resolve,
    })
  })
  return {
    connection,
    frames,
    closed,
    send: connection.send.bind(connection),
    close: () => connection.close(),
    take: async (count: number) => {
      while (frames.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return frames.splice(0, count)
    },
  }
}
