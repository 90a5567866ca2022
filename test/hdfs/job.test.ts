/** @file A whole job of PaddleRec's guide over hdfs://: data staged from a real HDFS, output collected there. Part of `npm run e2e:hdfs`. */
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  at,
  filled,
  firstOutput,
  guideJobs,
  type MpiCluster,
  mpiTools,
  openMpiCluster,
} from '../submit/mpi-cluster.testing.ts'

/** Hadoop's jars, set by `npm run e2e:hdfs`. */
const lib = process.env['OARFISH_HDFS_LIB']
const lacking = lib === undefined ? 'run npm run e2e:hdfs' : mpiTools()
if (lacking) console.warn(`skipped: ${lacking}`)

describe.skipIf(lacking)(`jobs over hdfs:// on two hosts ${lacking ?? ''}`, { timeout: 240_000 }, () => {
  let cluster: MpiCluster
  let hdfs: ChildProcess
  let url: string
  beforeAll(async () => {
    cluster = await openMpiCluster('hdfs')
    cluster.begin()
    const [host] = cluster.hosts
    // Hadoop asks who it is.
    const names = join(cluster.folder(), 'names')
    writeFileSync(names, `127.0.0.1 localhost\n${host!.address} ${host!.name}\n`)
    const java = ['-Xmx512m', `-Djdk.net.hosts.file=${names}`, '--add-opens=java.base/java.lang=ALL-UNNAMED']
    const args = [at('scripts/hdfs/MiniHdfs.java'), join(cluster.folder(), 'hdfs'), host!.address]
    hdfs = host!.spawn('java', [...java, '-cp', `${lib}/*`, ...args, join(cluster.folder(), 'remote/train')], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    hdfs.stderr!.on('data', (text) => {
      if (/Exception in thread/.test(String(text))) console.warn(String(text))
    })
    url = /hdfs:\/\/\S+/.exec(await firstOutput(hdfs, 180_000))![0]
  }, 240_000)
  afterAll(() => {
    hdfs?.kill('SIGKILL')
    cluster?.end()
    cluster?.close()
  })

  for (const { name, config, backend } of guideJobs()) {
    test(name, async () => {
      const output = `/user/oarfish/${name.replaceAll(/\W+/g, '-')}`
      const values = {
        fs_name: url,
        fs_ugi: 'oarfish,unused',
        train_data_path: '/user/oarfish/train',
        output_path: output,
      }
      const direct = filled(backend, { ...values, group: 'ctr' }).replace(/backend: "?PaddleCloud"?/, 'backend: MPI')
      const hosts = join(cluster.folder(), 'hosts')
      writeFileSync(join(cluster.folder(), 'work/config.yaml'), config)
      writeFileSync(
        join(cluster.folder(), 'work/backend.yaml'),
        direct.replace(/^submit:\n/m, `submit:\n  hostfile: ${hosts}\n`),
      )
      const { code, text } = await cluster.oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
      expect([code, text]).toEqual([0, expect.stringMatching(/job-\w+ succeeded/)])
      expect(text).toMatch(/train_data: 1 of 2 files of \/user\/oarfish\/train/)
      expect(await namesIn(`${output}/increment_dnn`)).not.toEqual([])
      expect(await namesIn(`${output}/log`)).toEqual(expect.arrayContaining(['trainer.0.log', 'trainer.1.log']))
    })
  }

  /** Asked on the host: this process is in another network. */
  async function namesIn(folder: string): Promise<readonly string[]> {
    const address = `${url.replace('hdfs:', 'http:')}/webhdfs/v1${folder}?op=LISTSTATUS&user.name=oarfish`
    const program = `console.log(await (await fetch(${JSON.stringify(address)})).text())`
    const child = cluster.hosts[0]!.spawn(process.execPath, ['--input-type=module', '-e', program])
    const { FileStatuses } = JSON.parse(await firstOutput(child)) as {
      FileStatuses: { FileStatus: { pathSuffix: string }[] }
    }
    return FileStatuses.FileStatus.map(({ pathSuffix }) => pathSuffix)
  }
})
