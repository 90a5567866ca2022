/** @file A host's side of a connection: answers the launcher's requests until its input ends. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Env } from '../env/index.ts'
import { toPlainError, UserError } from '../util/index.ts'
import { openFolder, seal, take } from './host-files.ts'
import { freePorts, look } from './host-look.ts'
import { killProcesses, reach, startProcess, stopProcesses } from './host-processes.ts'
import type { AnswerOf, FromHost, OperationName, RequestOf, ToHost } from './protocol.ts'

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
    start: (request) => startProcess(request, { env, tell: (note) => say({ note }) }),
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
    const { id, name, request } = JSON.parse(line) as ToHost
    void answer(handlers[name], request).then((reply) => say({ id, ...reply }))
  }
  for (const request of stopping) killProcesses(request)
}

type Handlers = { readonly [K in OperationName]: (request: RequestOf<K>) => AnswerOf<K> | Promise<AnswerOf<K>> }

async function answer(handle: (request: never) => unknown, request: unknown) {
  try {
    return { answer: (await handle(request as never)) ?? null }
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
