/** @file Processes of one host talk over unix sockets: a server names a path, and who can connect there is on its host. */
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, sayHello } from './hello.ts'
import type { Connection, Transport } from './transport.ts'

/** Facts of the hello: what a client asks for, what a server tells. */
export const PROBE = 'probe'
export const LOCAL_PATH = 'unix'

/** A new path for a server's unix socket; none where the platform has no such sockets. */
export function newLocalPath(): string | undefined {
  if (process.platform === 'win32') return undefined
  return join(tmpdir(), `oarfish-${process.pid}-${randomBytes(6).toString('hex')}.sock`)
}

/** Connects to the path that a server named; undefined from another host, where it means nothing. */
export async function connectLocally(
  transport: Transport,
  path: string,
  who: string,
  identity: Identity,
): Promise<Connection | undefined> {
  const local = await transport.connect(path, { timeoutMs: 2000 }).catch(() => undefined)
  if (local) await sayHello(local, who, identity)
  return local
}
