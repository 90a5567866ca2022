/** @file Damaged requests to a job server. */
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import {
  accountsReader,
  addGroup,
  addUser,
  createDispatcher,
  createJobServer,
  openNonces,
  openStore,
} from '../../src/jobs/server/index.ts'
import { hashOf, sign } from '../../src/jobs/server/sign.ts'
import type { Target, Work } from './targets.ts'
import { temporary } from './temporary.ts'

const bytes = (text: string) => Buffer.from(text)

const JOB = {
  name: 'a-job',
  group: 'people',
  priority: 'normal',
  kind: 'PS_CPU_K8S',
  roles: [{ name: 'trainer', replicas: 2, resources: { cpu: 1, memory: '1Gi' } }],
  command: 'true',
  env: { A: 'b' },
  files: [{ name: 'config.yaml', bytes: 3, sha256: hashOf('abc') }],
  data: { train: '/data' },
}

export const JOB_SERVER_TARGETS: Readonly<Record<string, Target>> = {
  'job-server': {
    words: ['"roles"', '"env"', 'null', '{}', '[]', '..', '%00', '//'],
    lanes: 10,
    open: jobServerTarget,
  },
}

/** Requests over HTTP to a job server: signed ones with damaged bodies, unsigned ones for damaged paths. None may be answered with 500. */
async function jobServerTarget(): Promise<Work> {
  const folder = temporary()
  const accountsFile = join(folder, 'accounts.json')
  await addGroup(accountsFile, 'people', { quota: 4, priorities: ['normal', 'high'] })
  const keys = await addUser(accountsFile, { name: 'ada', groups: ['people'] })
  const store = await openStore(folder)
  const executor = { kinds: ['_K8S'], atOnce: 1, name: 'local' } as never
  const accounts = accountsReader(accountsFile)
  const dispatcher = createDispatcher({
    store,
    accounts,
    executor,
    supervisor: () => ['true'],
    env: {},
    warn: () => undefined,
  })
  const limits = { fileBytes: 1e6, jobBytes: 1e6 }
  const nonces = openNonces(undefined, { most: Number.POSITIVE_INFINITY }) // all cases of a run come within minutes
  const server = createJobServer({
    ...{ store, dispatcher, accounts, nonces, executor, limits, version: '0' },
    rotate: async () => ({ ak: '', sk: '' }),
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const ask = rawClient(port)
  const send = async (...request: Parameters<Ask>): Promise<number> => {
    const status = await ask(...request)
    if (!(status < 500)) throw new Error(`${request[0]} ${request[1]} was answered with ${status}`)
    return status
  }
  const check = (body: Uint8Array) => {
    const path = '/v1/checks'
    return send('POST', path, sign({ method: 'POST', path, hash: hashOf(body) }, keys), body)
  }
  const valid = bytes(JSON.stringify(JOB))
  // Otherwise nothing behind what refuses it would ever be reached.
  if ((await check(valid)) !== 200) throw new Error('the job that all others are made from is refused itself')
  return {
    corpus: [valid, bytes('/v1/jobs/a?user=b'), bytes('/v1/jobs/a/files/b?from=3'), bytes('/')],
    run: async (input) => {
      const path = () => `/${input.toString('latin1', 1).replace(/[^\x21-\x7e]/g, '%')}`
      await (input[0] === 47 ? send('GET', path(), {}) : check(input))
    },
  }
}

type Ask = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: Uint8Array,
) => Promise<number>

/** Resolves to the status of an answer. One request after the other over one connection: Node's own client took a third of a case's time. */
function rawClient(port: number): Ask {
  let socket: Socket | undefined
  let answer = ''
  let told: { resolve(status: number): void; reject(error: Error): void } | undefined
  const over = () => {
    socket?.destroy()
    socket = undefined
  }
  const opened = () => {
    const own = connect(port, '127.0.0.1').setNoDelay(true)
    const failed = (error: Error) => {
      if (own !== socket) return
      over()
      told?.reject(error)
    }
    own.on('error', failed).on('close', () => failed(new Error(`no answer but "${answer}"`)))
    return own.on('data', (piece) => {
      answer += piece.toString('latin1')
      if (!isAnswered(answer)) return
      if (/\r\nconnection: close\r\n/i.test(answer)) over()
      told?.resolve(Number(answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)))
    })
  }
  return (method, path, headers, body = Buffer.alloc(0)) => {
    const lines = Object.entries({ host: 'fuzz', ...headers, 'content-length': body.length })
    const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
    answer = ''
    socket ??= opened()
    socket.write(Buffer.concat([Buffer.from(head), body]))
    return new Promise((resolve, reject) => {
      told = { resolve, reject }
    })
  }
}

function isAnswered(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4
  if (bodyAt < 4) return false
  const head = answer.slice(0, bodyAt)
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(head) ?? []
  if (length !== undefined) return answer.length >= bodyAt + Number(length)
  return !/\r\ntransfer-encoding: chunked\r\n/i.test(head) || answer.endsWith('0\r\n\r\n')
}
