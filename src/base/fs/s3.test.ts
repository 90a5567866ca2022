/** @file Reading from S3 over HTTP: what a server answers as S3's documentation says, empty objects and broken connections among it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { remoteFiles } from './remote.ts'
import { signed } from './s3.ts'

const CONTENT = Buffer.from('0123456789'.repeat(1000))
let server: Server
let breaks: number
beforeEach(async () => {
  breaks = 0
  server = createServer((request, response) => {
    const object = request.url === '/bucket/empty' ? Buffer.alloc(0) : CONTENT
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    if (request.url === '/bucket/missing') return response.writeHead(404).end('<Error><Message>no</Message></Error>')
    if (request.url === '/bucket/secret')
      return response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code><Message>wrong</Message></Error>')
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

test('what the key may not read is told', async () => {
  await expect(read('secret')).rejects.toMatchObject({ code: 'FS_FORBIDDEN', message: 'S3 refused secret: wrong.' })
})

// The examples of Amazon's documentation of signature version 4 for S3.
test.each([
  ['max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ['lifecycle=', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
])('requests are signed as Amazon publishes it: ?%s', (search, signature) => {
  const place = {
    endpoint: new URL('https://examplebucket.s3.amazonaws.com'),
    region: 'us-east-1',
    key: 'AKIAIOSFODNN7EXAMPLE',
    secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  }
  const hash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' // of nothing
  const now = new Date('2013-05-24T00:00:00Z')
  const { authorization } = signed(place, { method: 'GET', path: '/', search, hash, now })
  expect(authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=${place.key}/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
  )
})

async function read(path: string): Promise<Buffer> {
  const { port } = server.address() as AddressInfo
  const pieces: Uint8Array[] = []
  for await (const piece of remoteFiles(`s3://bucket?endpoint=http://127.0.0.1:${port}`, { ugi: 'k,s' }).read(path))
    pieces.push(piece)
  return Buffer.concat(pieces)
}
