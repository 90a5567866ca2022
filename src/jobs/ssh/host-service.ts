/** @file A host's side of a connection: answers the launcher's requests until its input ends; what it finds out about itself. */
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Env } from '../../base/env/index.ts'
import { readJson } from '../../base/net/index.ts'
import { toPlainError, UserError } from '../../base/util/index.ts'
import { openFolder, seal, take } from './host-files.ts'
import { killProcesses, reach, startProcess, stopProcesses } from './host-processes.ts'
import { REQUESTS, readRequest } from './messages.ts'
import type { AnswerOf, FromHost, OperationName, RequestOf } from './protocol.ts'

export interface HostServiceOptions {
  readonly input: Readable
  readonly print: (line: string) => void
  readonly env: Env
  readonly version: string
}

/** Resolves when the launcher is gone. What it had started goes on, unless it was about to be stopped. */
export async function serveHost({ input, print, env, version }: HostServiceOptions): Promise<void> {
  const say = (message: FromHost) => print(`${JSON.stringify(message)}\n`)
  const stopping = new Set<RequestOf<'stop'>>()
  const handlers: Handlers = {
    look,
    take,
    seal,
    open: openFolder,
    ports: freePorts,
    start: (request) => startProcess(request, { env, onNote: (note) => say({ note }) }),
    reach,
    stop: async (request) => {
      stopping.add(request)
      return await stopProcesses(request)
    },
  }
  // `SSH_CONNECTION=client port server port`
  const address = env['SSH_CONNECTION']?.split(' ')[2] ?? ''
  say({ hello: { version, node: process.version, address, home: env['HOME'] ?? '/' } })
  for await (const line of createInterface({ input })) {
    const { id, name, request } = readJson(Buffer.from(line), 'request', readRequest)
    void answer(name, handlers, request).then((reply) => say({ id, ...reply }))
  }
  for (const request of stopping) killProcesses(request)
}

type Handlers = { readonly [K in OperationName]: (request: RequestOf<K>) => AnswerOf<K> | Promise<AnswerOf<K>> }

/** ssh has proved whose words these are, and that user may start any process here: what is looked at is their form. */
async function answer(name: OperationName, handlers: Handlers, request: unknown) {
  try {
    const handle = handlers[name] as (request: unknown) => unknown
    return { answer: (await handle(REQUESTS[name](request, name))) ?? null }
  } catch (error) {
    return { error: toPlainError(fullDisk(error)) }
  }
}

function fullDisk(error: unknown): unknown {
  const { code, path } = error as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new UserError(`the disk is full${path ? ` (${path})` : ''}.`, {
    code: 'SSH_DISK',
    hint: DISK_HINT,
    cause: error,
  })
}

const DISK_HINT = 'Remove folders of earlier jobs (JOB...) below ROOT_DIR there, or choose another ROOT_DIR.'

async function look({ root, make = false, nic, ports }: RequestOf<'look'>): Promise<AnswerOf<'look'>> {
  const nics = networkInterfaces()
  const addresses = nics[nic] ?? []
  const nicAddress = (addresses.find(({ family }) => family === 'IPv4') ?? addresses[0])?.address
  const taken = await Promise.all(ports.map(async (port) => !(await bind(port))))
  if (make && root !== '') mkdirSync(root, { recursive: true })
  const unwritable = root === '' ? undefined : whyNot(root)
  return {
    nics: Object.keys(nics),
    freeBytes: root === '' || unwritable !== undefined ? 0 : freeBytes(root),
    taken: ports.filter((_port, i) => taken[i]),
    nicAddress,
    unwritable,
  }
}

/** Ports that were free a moment ago: all are held until all are known, so that they differ. */
async function freePorts({ count }: RequestOf<'ports'>): Promise<AnswerOf<'ports'>> {
  const servers = await Promise.all(Array.from({ length: count }, async () => await listen(0)))
  const ports = servers.map((server) => (server!.address() as { port: number }).port)
  for (const server of servers) server!.close()
  return ports
}

/** Tried, because rights alone do not show it: the disk may be read-only, or full. */
function whyNot(root: string): string | undefined {
  if (!existsSync(root)) return 'it does not exist'
  const probe = join(root, `.oarfish-${process.pid}`)
  try {
    writeFileSync(probe, 'x')
    return undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return REASONS[code ?? ''] ?? message
  } finally {
    rmSync(probe, { force: true })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EROFS: 'it is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'it is not a folder',
}

function freeBytes(root: string): number {
  const { bavail, bsize } = statfsSync(root)
  return bavail * bsize
}

async function bind(port: number): Promise<boolean> {
  const server = await listen(port)
  server?.close()
  return server !== undefined
}

function listen(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((done) => {
    server.once('error', () => done(undefined))
    server.listen(port, () => done(server))
  })
}
