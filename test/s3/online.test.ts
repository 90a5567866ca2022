/** @file Online training from S3, and a server that follows a model there, against a server of its protocol. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe } from 'vitest'
import { remoteFiles, setFileAccess } from '../../src/base/fs/index.ts'
import { type Store, testArrivingDays } from '../contracts/arriving-days.ts'

const script = fileURLToPath(new URL('../../scripts/s3-server.mjs', import.meta.url))
const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
const lacking = status === 0 ? undefined : stderr.trim()
if (lacking) console.warn(`skipped: ${lacking}`)

interface S3Server {
  run(): Promise<AddressInfo>
  close(): Promise<void>
}
type Open = new (options: object) => S3Server

describe.skipIf(lacking)(`days on S3 ${lacking ?? ''}`, () => {
  const ugi = 'S3RVER,S3RVER'
  let folder: string
  let server: S3Server | undefined
  let store: Store
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 's3-days-'))
    const { default: Server } = (await import(stdout.trim())) as { default: Open }
    const open = (port: number) => {
      server = new Server({ port, address: '127.0.0.1', silent: true, directory: folder, configureBuckets: [{ name: 'bucket' }] }) // biome-ignore format: one line
      return server.run()
    }
    const { port } = await open(0)
    const name = `s3://bucket?endpoint=http://127.0.0.1:${port}&region=us-east-1`
    setFileAccess({ name, ugi })
    store = {
      ...{ files: remoteFiles(name, { ugi }), name, ugi, address: 's3://bucket' },
      stop: async () => await server?.close(),
      start: async () => void (await open(port)),
    }
  })
  afterAll(async () => {
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  testArrivingDays(() => store)
})
