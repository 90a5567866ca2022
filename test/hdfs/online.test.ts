/** @file Online training from a real HDFS, and a server that follows a model there. Part of `npm run e2e:hdfs`. */
import { beforeAll, describe } from 'vitest'
import { remoteFiles, setFileAccess } from '../../src/base/fs/index.ts'
import { type Store, testArrivingDays } from '../contracts/arriving-days.ts'

const { OARFISH_HDFS } = process.env

describe.skipIf(!OARFISH_HDFS)('days on HDFS', () => {
  const ugi = 'oarfish,unused'
  let store: Store
  beforeAll(() => {
    const name = OARFISH_HDFS!.replace(/\/+$/, '')
    setFileAccess({ name, ugi })
    const root = `/user/oarfish/days-${process.pid}`
    store = { files: remoteFiles(`${name}${root}`, { ugi }), name, ugi, address: `${name}${root}` }
  })
  testArrivingDays(() => store)
})
