/** @file What processes say to each other, damaged: every reader of a message, and a server's half of the handshake. */
import {
  BadMessage,
  type Connection,
  type ConnectionListener,
  type Reader,
  readJson,
  readPlainError,
  serverHandshake,
} from '../../src/base/net/index.ts'
import { isUserError } from '../../src/base/util/index.ts'
import { readNodeTask } from '../../src/jobs/agent/node-task.ts'
import { readJoined, readPlan } from '../../src/jobs/launch/rendezvous-messages.ts'
import { ANSWERS, REQUESTS, readHostLine, readRequest } from '../../src/jobs/ssh/messages.ts'
import { readInspectAnswer } from '../../src/training/ps/inspect-answer.ts'
import { readChunk, readClaim, readGather, readGathered, readInspect, readLanes } from '../../src/training/ps/rules.ts'
import type { Target } from './targets.ts'

const READERS: Readonly<Record<string, Reader<unknown>>> = {
  ...{ readPlainError, readNodeTask, readJoined, readPlan, readHostLine, readRequest, readInspectAnswer },
  ...{ readChunk, readClaim, readGather, readGathered, readInspect, readLanes },
  ...Object.fromEntries(Object.entries(REQUESTS).map(([name, read]) => [`request ${name}`, read as Reader<unknown>])),
  ...Object.fromEntries(Object.entries(ANSWERS).map(([name, read]) => [`answer ${name}`, read as Reader<unknown>])),
}

const FILE = { path: 'a/b.py', bytes: 3, sha256: 'a'.repeat(64), executable: false }
const NODE = { host: '10.0.0.4', endpoints: ['10.0.0.4:7000'], devices: [[0, 1]] }
const TABLE = { name: 'emb', dim: 9, rows: 5, rowBytes: 80, usedBytes: 4096, optimizer: 'adam' }
/** Each is what one of the readers takes. */
export const MESSAGES: readonly object[] = [
  {
    name: 'Error',
    message: 'x',
    stack: 'at y',
    user: { code: 'NET_REFUSED', hint: 'z', where: { file: 'f', line: 1 } },
  },
  { node: NODE, rank: 0, id: '0123456789ab' },
  { nodes: [NODE], ids: ['0123456789ab'], number: 1 },
  { hello: { version: '0.1.0', node: 'v20.19.0', address: '10.0.0.4', home: '/root' } },
  {
    note: { kind: 'ended', role: 'worker', rank: 0, code: 1, text: 'exit code 1', lines: ['a', 'b'], notes: ['saved'] },
  },
  { id: 3, answer: { missing: ['a/b.py'] } },
  { id: 1, name: 'look', request: { root: '/tmp', nic: 'eth0', ports: [7000] } },
  { root: '/tmp', folder: '/tmp/job', files: [FILE], folders: ['log'] },
  { nics: ['lo'], freeBytes: 1e9, taken: [], nicAddress: '10.0.0.4' },
  {
    kind: 'table',
    server: 0,
    ...TABLE,
    weights: { sampledRows: 5, mean: 0.1, deviation: 1, smallest: -1, largest: null },
  },
  {
    ...{ kind: 'server', server: 0, mode: 'async', steps: 5, denseValues: 7, shards: [0, 9], usedBytes: 1 },
    ...{ memoryLimitBytes: 2, tables: [TABLE] },
  },
  {
    ...{ kind: 'row', table: 'emb', key: '18446744073709551615' },
    owner: { server: 0, endpoint: '10.0.0.4:7000', shard: 3, localShard: 3 },
    row: { isStored: true, weight: [0.5], state: { m: [0] }, lastUpdate: { step: 1, worker: 0, at: 1e12 } },
  },
  {
    job: {
      ...{ name: 'job', group: 'ctr', priority: 'normal', kind: 'PS_CPU_MPI', command: 'true', env: { A: 'b' } },
      roles: [{ name: 'trainer', replicas: 2, resources: { cpu: 0.5, memory: '1Gi' } }],
      files: [{ name: 'a.py', content: { text: 'x' } }],
      data: { train: '/data' },
      secrets: { profile: 'none', env: ['SK'] },
    },
    ...{ jobId: 'job-1', node: 0, nodes: 2, host: '10.0.0.4', fsUgi: 'user,word' },
  },
]

/** The readers that take this. */
export function readersOf(input: Uint8Array): readonly string[] {
  return Object.entries(READERS).flatMap(([name, read]) => {
    try {
      readJson(input, name, read)
      return [name]
    } catch (error) {
      if (error instanceof BadMessage) return []
      throw error
    }
  })
}

const corpus = (values: readonly object[]) => values.map((value) => Buffer.from(JSON.stringify(value)))
const WORDS = ['null', 'true', '-1', '1e308', '"__proto__":', '[', '{', '{}', '..', '\\u0000', '9007199254740993']

export const MESSAGE_TARGETS: Readonly<Record<string, Target>> = {
  message: {
    words: WORDS,
    open: () => ({ corpus: corpus(MESSAGES), run: (input) => void readersOf(input) }),
  },
  handshake: {
    words: WORDS,
    open: () => ({
      corpus: corpus([
        { version: 2, nonce: '0'.repeat(32), proof: 'f'.repeat(64) },
        { jobId: 'job', role: 'worker', rank: 0, agreement: { a: 'b' }, facts: {}, proof: 'f'.repeat(64) },
      ]),
      run: async (input) => {
        const identity = { jobId: 'job', token: 'secret', role: 'server', rank: 0, agreement: {} } as const
        const end = await serverHandshake(saying(input), identity).catch((error: unknown) => error)
        if (!isUserError(end)) throw end instanceof Error ? end : new Error('it was let in')
      },
    }),
  },
}

/** A client that says this, twice, and leaves. */
function saying(body: Buffer<ArrayBuffer>): Connection {
  const listen = (listener: ConnectionListener) => {
    const frame = { type: 'hello', method: 0, id: 0, body } as const
    listener.frame(frame)
    listener.frame(frame)
    listener.closed(new Error('gone'))
  }
  const nothing = () => undefined
  const sending = { send: nothing, copies: false, queuedBytes: 0, limit: nothing, drained: async () => undefined }
  return { remote: '10.0.0.9:1', ...sending, pause: nothing, resume: nothing, close: nothing, listen }
}
