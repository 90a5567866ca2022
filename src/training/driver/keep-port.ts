/**
 * @file The server process of a GPU parameter server: its tables lie with the trainer, in one process as in the original, so it holds
 * the job's port, which no other job can take then, until it is ended.
 */
import { createServer } from 'node:net'
import { explain } from '../../base/config/index.ts'
import { parseEndpoint } from '../../base/env/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { TrainOptions } from './train.ts'

/** Resolves when the signal is given. */
export async function keepPort({
  config,
  emit,
  signal,
  endpoint,
}: TrainOptions & { readonly endpoint: string }): Promise<undefined> {
  const { host, port } = parseEndpoint(endpoint)!
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(taken(endpoint, error)))
    server.listen(port, host, resolve)
  })
  const settings = explain(config.config)
  const model = config.config.model ?? config.config.dir
  emit({ kind: 'start', command: 'train', model, settings, job: { role: 'server', rank: 0, threads: 1 } })
  emit({
    kind: 'notice',
    message: `The tables of this job lie with its trainer; this process holds ${endpoint} until it is ended.`,
  })
  if (!signal?.aborted) await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }))
  await new Promise((resolve) => server.close(resolve))
}

function taken(endpoint: string, cause: NodeJS.ErrnoException): UserError {
  const why = cause.code === 'EADDRINUSE' ? 'another process listens there' : cause.message
  return new UserError(`the server cannot listen at ${endpoint}: ${why}`, {
    code: 'PS_LISTEN',
    hint: 'set a free port in PADDLE_PSERVERS_IP_PORT_LIST and in PADDLE_PSERVER_PORT_ARRAY',
    cause,
  })
}
