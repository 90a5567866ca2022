/** @file Online training from S3, and a server that follows a model there, against a server of its protocol. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { remoteFiles, setFileAccess } from '../../src/base/fs/index.ts'
import { type Store, testArrivingDays } from '../contracts/arriving-days.ts'
import { lacking, type S3Server, s3Server } from './server.testing.ts'

describe.skipIf(lacking)(`days on S3 ${lacking ?? ''}`, () => {
  const ugi = 'S3RVER,S3RVER'
  let folder: string
  let server: S3Server | undefined
  let store: Store
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 's3-days-'))
    const open = async (port: number) => {
      server = await s3Server(folder, port)
      return await server.run()
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
