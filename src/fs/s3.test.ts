/** @file Reading from S3 over HTTP: what a server answers as S3's documentation says, empty objects and broken connections among it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { remoteFiles } from './remote.ts'

const CONTENT = Buffer.from('0123456789'.repeat(1000))
let server: Server
let breaks: number
beforeEach(async () => {
  breaks = 0
  server = createServer((request, response) => {
    const object = request.url === '/bucket/empty' ? Buffer.alloc(0) : CONTENT
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    if (request.url === '/bucket/missing') return response.writeHead(404).end('<Error><Message>no</Message></Error>')
    if (request.headers.range && from >= object.length) return response.writeHead(416).end()
    response.writeHead(request.headers.range ? 206 : 200, { 'content-length': String(object.length - from) })
    if (breaks-- > 0) return response.write(object.subarray(from, from + 100), () => response.destroy())
    return response.end(object.subarray(from))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(() => server.close())

test('an object comes whole, and goes on where a connection broke', async () => {
  breaks = 3
  expect((await read('full')).equals(CONTENT)).toBe(true)
})

test('an empty object is empty, not an error', async () => {
  expect((await read('empty')).length).toBe(0)
})

test('what is not there is told', async () => {
  await expect(read('missing')).rejects.toThrow(/nothing of that name in the bucket/)
})

async function read(path: string): Promise<Buffer> {
  const { port } = server.address() as AddressInfo
  const pieces: Uint8Array[] = []
  for await (const piece of remoteFiles(`s3://bucket?endpoint=http://127.0.0.1:${port}`, { ugi: 'k,s' }).read(path))
    pieces.push(piece)
  return Buffer.concat(pieces)
}
