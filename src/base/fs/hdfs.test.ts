/** @file Answers of HDFS that a test cannot wait for: what a name node said while it started. All others are in test/hdfs. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { remoteFiles } from './remote.ts'

const STARTING =
  '{"RemoteException":{"exception":"RetriableException","javaClassName":"org.apache.hadoop.ipc.RetriableException","message":"Namenode is in startup mode"}}'
const LISTING =
  '{"FileStatuses":{"FileStatus":[{"accessTime":1794802045004,"blockSize":134217728,"childrenNum":0,"fileId":16389,"group":"supergroup","length":6,"modificationTime":1794802046996,"owner":"root","pathSuffix":"a","permission":"644","replication":1,"storagePolicy":0,"type":"FILE"}]}}'

let server: Server
let starting: number
beforeEach(async () => {
  server = createServer((_request, response) => {
    if (starting-- > 0) response.writeHead(403, { 'content-type': 'application/json' }).end(STARTING)
    else response.end(LISTING)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(() => server.close())

const list = () => remoteFiles(`hdfs://127.0.0.1:${(server.address() as AddressInfo).port}`).list('/user')

test('a name node that starts is asked again', async () => {
  starting = 2
  expect(await list()).toEqual([{ path: 'a', bytes: 6 }])
})

test('one that does not come up is not taken for a want of rights', async () => {
  starting = 100
  await expect(list()).rejects.toMatchObject({
    code: 'FS_FAILED',
    message: 'HDFS refused /user: Namenode is in startup mode.',
  })
})
