/** @file `s3://bucket` with signature version 4. Keys come from the environment variables every S3 tool reads, or from `fs_ugi`. */
import { createHash, createHmac } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { defined, UserError } from '../util/index.ts'
import { drain, exchange, HttpStatusError, joined, resumed, retried } from './http.ts'
import type { RemoteFile, RemoteFiles, RemoteOptions } from './remote.ts'

interface S3Place {
  readonly endpoint: URL
  readonly bucket: string
  /** Begins every key. */
  readonly prefix: string
  readonly region: string
  readonly key: string
  readonly secret: string
}

const PART_BYTES = 16 << 20 // S3 refuses parts below 5 MiB but for the last
const UNSIGNED = 'UNSIGNED-PAYLOAD'

/** `s3://bucket/prefix?endpoint=http://host:9000&region=us-east-1`; without an endpoint, Amazon's. */
export function s3Files(url: URL, { ugi = '' }: RemoteOptions): RemoteFiles {
  const region = url.searchParams.get('region') ?? 'us-east-1'
  const [key = '', secret = ''] = ugi.split(',')
  const endpoint = new URL(url.searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`)
  const place: S3Place = { endpoint, bucket: url.hostname, prefix: clean(url.pathname), region, key, secret }
  const keyOf = (path: string) => clean(`${place.prefix}/${path}`)
  const get = async (path: string, range?: string) =>
    await retried(async () => await call(place, { method: 'GET', key: keyOf(path), range }), worded(path))
  return {
    list: async (folder) => await listAll(place, keyOf(folder), worded(folder)),
    // An empty object has no byte for a range to begin at.
    read: (path) => resumed((offset) => get(path, offset === 0 ? undefined : `bytes=${offset}-`), worded(path)),
    readRange: async (path, from, length) =>
      await joined(
        resumed((got) => get(path, `bytes=${from + got}-${from + length - 1}`), worded(path)),
        length,
      ),
    write: async (path, content) => await upload(place, keyOf(path), content, worded(path)),
  }
}

const clean = (path: string) =>
  path
    .split('/')
    .filter((part) => part !== '')
    .join('/')

/** All keys below a prefix, page by page. */
async function listAll(
  place: S3Place,
  prefix: string,
  reword: (error: Error) => Error,
): Promise<readonly RemoteFile[]> {
  const found: RemoteFile[] = []
  for (let token: string | undefined = ''; token !== undefined; ) {
    const query = defined({ 'list-type': '2', prefix, 'continuation-token': token || undefined })
    const page: string = await text(
      await retried(async () => await call(place, { method: 'GET', key: '', query }), reword),
    )
    for (const [, entry] of page.matchAll(/<Contents>([\s\S]*?)<\/Contents>/g)) {
      const [key, bytes] = [tag(entry!, 'Key')!, Number(tag(entry!, 'Size'))]
      if (key === prefix) found.push({ path: '', bytes })
      else if (key.startsWith(`${prefix}/`) || prefix === '')
        found.push({ path: key.slice(prefix === '' ? 0 : prefix.length + 1), bytes })
    }
    token = tag(page, 'NextContinuationToken')
  }
  const files = found.filter(({ path }) => !path.endsWith('/'))
  if (files.length === 0) throw reword(new HttpStatusError(404, ''))
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function tag(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(xml)?.[1]
  return found?.replaceAll(/&(\w+);/g, (all, entity: string) => ENTITIES[entity] ?? all)
}

/** Small content in one request, larger in parts; S3 shows the object only when it is whole. */
async function upload(
  place: S3Place,
  key: string,
  content: AsyncIterable<Uint8Array>,
  reword: (error: Error) => Error,
): Promise<void> {
  const put = async (body: Uint8Array, query: Readonly<Record<string, string>> = {}) => {
    const response = await retried(async () => await call(place, { method: 'PUT', key, query, body }), reword)
    await drain(response)
    return response.headers.etag ?? ''
  }
  const parts = inParts(content)
  const { value: first = new Uint8Array(0), done } = await parts.next()
  if (done || first.length < PART_BYTES) return void (await put(first))
  const begun = await retried(async () => await call(place, { method: 'POST', key, query: { uploads: '' } }), reword)
  const uploadId = tag(await text(begun), 'UploadId')!
  const tags = [await put(first, { partNumber: '1', uploadId })]
  for await (const part of parts) tags.push(await put(part, { partNumber: String(tags.length + 1), uploadId }))
  const listed = tags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`).join('')
  const body = Buffer.from(`<CompleteMultipartUpload>${listed}</CompleteMultipartUpload>`)
  const answer = await text(await call(place, { method: 'POST', key, query: { uploadId }, body }))
  // S3 may answer 200 with a failure in the body.
  if (answer.includes('<Error>')) throw reword(new HttpStatusError(500, answer))
}

async function* inParts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [pieces, bytes]: [Uint8Array[], number] = [[], 0]
  for await (const piece of content) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes < PART_BYTES) continue
    yield Buffer.concat(pieces)
    ;[pieces, bytes] = [[], 0]
  }
  if (bytes > 0) yield Buffer.concat(pieces)
}

interface Call {
  readonly method: string
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  readonly range?: string | undefined
}

async function call(place: S3Place, { method, key, query = {}, body, range }: Call) {
  const path = `/${[place.bucket, ...key.split('/')]
    .filter((part) => part !== '')
    .map(encode)
    .join('/')}`
  const search = Object.entries(query)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&')
  const hash = body ? createHash('sha256').update(body).digest('hex') : UNSIGNED
  const headers = signed(place, { method, path, search, hash, now: new Date() })
  const url = `${place.endpoint.origin}${path}${search && `?${search}`}`
  const length = body && String(body.length)
  // Node sends no header that is undefined: it throws.
  return await exchange({ method, url, headers: defined({ ...headers, 'content-length': length, range }), body })
}

/** The headers of signature version 4. */
export function signed(
  { endpoint, region, key, secret }: Pick<S3Place, 'endpoint' | 'region' | 'key' | 'secret'>,
  { method, path, search, hash, now }: { method: string; path: string; search: string; hash: string; now: Date },
): Readonly<Record<string, string>> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const headers = { host: endpoint.host, 'x-amz-content-sha256': hash, 'x-amz-date': time }
  const names = Object.keys(headers).join(';')
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}:${value}\n`)
    .join('')
  const request = [method, path, search, lines, names, hash].join('\n')
  const signable = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(request).digest('hex')].join('\n')
  const hmac = (by: string | Buffer, data: string) => createHmac('sha256', by).update(data).digest()
  const signing = scope.split('/').reduce<string | Buffer>((by, part) => hmac(by, part), `AWS4${secret}`)
  const signature = createHmac('sha256', signing).update(signable).digest('hex')
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${key}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

const encode = (part: string) =>
  encodeURIComponent(part).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

const worded =
  (path: string) =>
  (error: Error): Error => {
    if (!(error instanceof HttpStatusError))
      return new UserError(`S3 cannot be reached for ${path}: ${error.message}.`, {
        code: 'FS_UNREACHABLE',
        hint: 'Check the endpoint in fs_name.',
        cause: error,
      })
    if (error.status === 404)
      return new UserError(`${path}: there is nothing of that name in the bucket.`, {
        code: 'FS_NOT_FOUND',
        hint: 'Check bucket and path.',
        cause: error,
      })
    const refused = error.status === 401 || error.status === 403
    return new UserError(`S3 refused ${path}: ${tag(error.body, 'Message') ?? error.message}.`, {
      code: refused ? 'FS_FORBIDDEN' : 'FS_FAILED',
      hint: refused ? 'Check fs_ugi (KEY,SECRET) and the rights of that key.' : 'Try again later.',
      cause: error,
    })
  }
