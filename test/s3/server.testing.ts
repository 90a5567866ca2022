/** @file A server of S3's protocol, and why there can be none here. */
import { spawnSync } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../scripts/s3-server.mjs', import.meta.url))
const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })

/** Undefined: there can be one. */
export const lacking = status === 0 ? undefined : stderr.trim()
if (lacking) console.warn(`skipped: ${lacking}`)

export interface S3Server {
  run(): Promise<AddressInfo>
  close(): Promise<void>
}

/** Not run yet; `port` 0 is any. */
export async function s3Server(directory: string, port = 0): Promise<S3Server> {
  const { default: Server } = (await import(stdout.trim())) as { default: new (options: object) => S3Server }
  return new Server({ port, address: '127.0.0.1', silent: true, directory, configureBuckets: [{ name: 'bucket' }] })
}
