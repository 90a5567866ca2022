/**
 * @file What a real HDFS answered, on tape: a server between client and HDFS that can write every answer down, and gives them again where there
 * is no HDFS. Data nodes are reached through it too.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

interface Answer {
  readonly status: number
  /** Of the request's body, where it has one. */
  readonly sent?: string
  readonly type?: string
  /** Where a data node has it; `{tape}` stands for this server. */
  readonly location?: string
  readonly text?: string
  readonly base64?: string
}

/** By request; a request that is made again gets the next answer, and the last one from then on. */
type Answers = Record<string, Answer[]>

export interface Tape {
  /** The HDFS to ask. */
  readonly url: string
  /** What was asked so far. */
  asked(): readonly string[]
  /** Answers that break off in the middle from now on, before they are whole. */
  breakOff(times: number): void
  /** The next file that is written arrives with one byte changed. */
  damage(): void
  /** The next file that is read does. */
  damageRead(): void
  /** Writes down what was heard from a real one, where that was asked for. */
  close(): Promise<void>
}

export async function openTape(
  file: string,
  { live, record }: { live: string | undefined; record: boolean },
): Promise<Tape> {
  const tape: Answers = live || !existsSync(file) ? {} : JSON.parse(readFileSync(file, 'utf8'))
  const real = new Map<string, string>()
  const used = new Map<string, number>()
  const asked: string[] = []
  let breaks = 0
  let damages = false
  let damagesRead = false
  const recall = (key: string, sent: string | undefined): Answer => {
    const answers = tape[key] ?? []
    const at = used.get(key) ?? 0
    used.set(key, at + 1)
    const answer = answers[Math.min(at, answers.length - 1)]
    if (!answer) return { status: 500, text: `not on tape: ${key}` }
    return answer.sent === sent ? answer : { status: 500, text: `on tape the body of ${key} is another` }
  }
  const hear = async (key: string, request: IncomingMessage, body: Buffer, sent: string | undefined) => {
    const address = real.get(key) ?? `${live!.replace('hdfs:', 'http:')}${request.url}`
    const isContent = request.url!.includes('/dn/') && body.length > 0
    if (damages && isContent) body[body.length >> 1]! ^= 1
    if (isContent) damages = false
    const answer = await ask(address, request.method!, request.headers, body, real)
    const heard = { ...answer, ...(sent !== undefined && { sent }) }
    const before = tape[key] ?? []
    if (JSON.stringify(before.at(-1)) !== JSON.stringify(heard)) tape[key] = [...before, heard]
    return answer
  }
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const key = keyOf(request.method!, request.url!)
    asked.push(key)
    const sent = body.length > 0 ? createHash('sha256').update(body).digest('hex') : undefined
    const answer = live ? await hear(key, request, body, sent) : recall(key, sent)
    const content = answer.base64 === undefined ? Buffer.from(answer.text ?? '') : Buffer.from(answer.base64, 'base64')
    if (damagesRead && request.method === 'GET' && request.url!.includes('op=OPEN') && content.length > 0) {
      content[content.length >> 1]! ^= 1
      damagesRead = false
    }
    response.writeHead(answer.status, {
      'content-type': answer.type ?? 'application/json',
      'content-length': String(content.length),
      ...(answer.location && { location: answer.location.replace('{tape}', `http://${request.headers.host}`) }),
    })
    if (content.length > 1 && request.url!.includes('/dn/') && breaks-- > 0)
      return response.write(content.subarray(0, content.length >> 1), () => response.destroy())
    return response.end(content)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `hdfs://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    breakOff: (times) => {
      breaks = times
    },
    damageRead: () => {
      damagesRead = true
    },
    damage: () => {
      damages = true
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      if (live && record) writeFileSync(file, `${JSON.stringify(sorted(tape), undefined, 1)}\n`)
    },
  }
}

/** Without what differs from run to run: ports, and tokens. */
function keyOf(method: string, url: string): string {
  const { pathname, searchParams } = new URL(url, 'http://tape')
  searchParams.delete('namenoderpcaddress')
  for (const name of ['token', 'delegation']) if (searchParams.has(name)) searchParams.set(name, 'TOKEN')
  searchParams.sort()
  return `${method} ${decodeURIComponent(pathname)}?${searchParams}`
}

async function ask(
  url: string,
  method: string,
  headers: IncomingHttpHeaders,
  body: Buffer,
  real: Map<string, string>,
): Promise<Answer> {
  const { host: _host, ...kept } = headers
  const response = await new Promise<IncomingMessage>((done, fail) => {
    httpRequest(url, { method, headers: kept }, done).on('error', fail).end(body)
  })
  const content = await buffer(response)
  const { location, 'content-type': type } = response.headers
  const isText = type?.includes('json') ?? true
  return {
    status: response.statusCode!,
    ...(type !== undefined && { type }),
    ...(location !== undefined && { location: through(location, method, real) }),
    ...(isText ? { text: content.toString('utf8') } : { base64: content.toString('base64') }),
  }
}

function through(location: string, method: string, real: Map<string, string>): string {
  const { pathname, searchParams } = new URL(location)
  searchParams.delete('namenoderpcaddress')
  const path = `/dn${pathname}?${searchParams}`
  // Created by a PUT, which is then made to the data node as well.
  real.set(keyOf(method, path), location)
  return `{tape}${path}`
}

const sorted = (tape: Answers): Answers => Object.fromEntries(Object.entries(tape).sort(([a], [b]) => (a < b ? -1 : 1)))
