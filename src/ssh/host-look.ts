/** @file What a host finds out about itself for a launcher. */
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { AnswerOf, RequestOf } from './protocol.ts'

export async function look({ root, make = false, nic, ports }: RequestOf<'look'>): Promise<AnswerOf<'look'>> {
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
    ...(nicAddress !== undefined && { nicAddress }),
    ...(unwritable !== undefined && { unwritable }),
  }
}

/** Ports that were free a moment ago: all are held until all are known, so that they differ. */
export async function freePorts({ count }: RequestOf<'ports'>): Promise<AnswerOf<'ports'>> {
  const servers = await Promise.all(Array.from({ length: count }, async () => await listen(0)))
  const ports = servers.map((server) => (server!.address() as { port: number }).port)
  for (const server of servers) server!.close()
  return ports
}

/** Tried, because rights alone do not tell: the disk may be read-only, or full. */
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
