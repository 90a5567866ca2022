/** @file A job server from its folder: store, accounts, queue and HTTP together, opened and closed as one. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { UserError } from '../../base/util/index.ts'
import type { ServerOptions } from './access.ts'
import { type Accounts, accountsReader, rotateKeys, sealAccounts } from './accounts.ts'
import { createDispatcher, type DispatchOptions } from './dispatch.ts'
import { openNonces } from './nonces.ts'
import { createJobServer } from './server.ts'
import { holdStore, openStore, type Store } from './store.ts'

export interface OpenServerOptions
  extends Omit<DispatchOptions, 'store' | 'accounts'>,
    Pick<ServerOptions, 'limits' | 'version' | 'tls'> {
  /** Where jobs and accounts are kept; one server at a time holds it. */
  readonly dir: string
  readonly host: string
  /** 0 is any that is free. */
  readonly port: number
}

export interface OpenServer {
  readonly port: number
  readonly store: Store
  readonly accounts: () => Accounts
  /** Jobs that run go on. */
  close(): Promise<void>
}

export const accountsFile = (dir: string) => join(dir, 'accounts.json')

const QUEUE_MS = 300

export async function openJobServer(options: OpenServerOptions): Promise<OpenServer> {
  const { dir, executor, limits, version, tls, warn } = options
  const release = await holdStore(dir)
  const store = await openStore(dir)
  const nonces = openNonces(join(dir, 'nonces'))
  const closeFiles = async () => {
    await store.close()
    nonces.close()
    release()
  }
  const accounts = accountsReader(accountsFile(dir), warn)
  await sealAccounts(accountsFile(dir)).catch(() => undefined) // its reader tells what is wrong with it
  const dispatcher = createDispatcher({ ...options, store, accounts })
  const rotate = async (user: string) => {
    const { ak, sk } = await rotateKeys(accountsFile(dir), user)
    return { ak, sk }
  }
  const server = createJobServer({ store, dispatcher, executor, limits, accounts, nonces, version, rotate, tls })
  try {
    await new Promise<void>((done, fail) => server.once('error', fail).listen(options.port, options.host, done))
  } catch (error) {
    await closeFiles()
    throw cannotListen(error as NodeJS.ErrnoException, options)
  }
  const queue = setInterval(() => void dispatcher.turn(), QUEUE_MS)
  const close = async () => {
    clearInterval(queue)
    server.close()
    server.closeAllConnections()
    await closeFiles()
  }
  return { port: (server.address() as AddressInfo).port, store, accounts, close }
}

function cannotListen(cause: NodeJS.ErrnoException, { host, port }: OpenServerOptions): UserError {
  const why = cause.code === 'EADDRINUSE' ? 'another program has this port' : cause.message
  return new UserError(`The job server cannot listen on ${host}:${port}: ${why}.`, {
    code: 'CLOUD_LISTEN',
    hint: 'Name a free port with --port; 0 is any.',
    cause,
  })
}
