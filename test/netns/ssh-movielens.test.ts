/** @file The demo on MovieLens 100k by `oarfish cluster` on four hosts: pass by pass what one machine with four times the batch learns. */
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rmse, testCosts } from '../trainer/job.testing.ts'
import { clusterTools, openCluster, type TestCluster } from './ssh-cluster.testing.ts'

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 120_000 })

const { OARFISH_DATA } = process.env
const PASSES = 6
const TRAIN = 90_000
const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const lacking = clusterTools()
if (lacking !== undefined) console.warn(`ssh-cluster is skipped: ${lacking}`)

describe.skipIf(lacking !== undefined || !OARFISH_DATA)('ssh-cluster: OARFISH_DATA/ml-100k on four hosts', () => {
  let cluster: TestCluster
  let workspace: string
  beforeAll(async () => {
    cluster = await openCluster('sshm', 4)
    for (const { name } of cluster.hosts) cluster.program(name, 'oarfish', `exec ${at('bin/path/oarfish')} "$@"`)
    workspace = join(cluster.folder, 'workspace')
    cpSync(at('examples/recommendation'), workspace, { recursive: true })
    execFileSync('sh', [join(workspace, 'preprocess.sh'), join(OARFISH_DATA!, 'ml-100k')])
  })
  afterAll(() => cluster?.close())

  test('each rating is read once a pass, and every pass has the test error of one machine', async () => {
    const options = ['--config=trainer_config.ts', `--num_passes=${PASSES}`, '--log_period=0', '--dot_period=0']
    const dispatch = ['cluster', '--conf', cluster.conf(), `--job_dispatch_package=${workspace}`]
    const job = await cluster.oarfish([...dispatch, ...options, '--config_args=size=32,batch_size=400']).ended
    expect(job.code, job.out).toBe(0)
    const [, folder] = /, (\S+) on each/.exec(job.out)!
    const log = cluster.on(0, `cat ${folder}/log/train.log`)
    expect([...log.matchAll(/ Pass=\d+ samples=(\d+) /g)].map(([, count]) => Number(count))).toEqual(
      new Array(PASSES).fill(TRAIN),
    )
    const alone = cluster.on(
      0,
      `cd ${folder} && oarfish trainer ${options.join(' ')} --config_args=size=32,batch_size=1600 --log_dir=alone`,
    )
    const [four, one] = [log, alone].map((text) => testCosts(text).map(rmse)) as [number[], number[]]
    console.info(`test RMSE by pass, four hosts: ${shown(four)}; one machine: ${shown(one)}`)
    expect(four).toHaveLength(PASSES)
    for (const [pass, error] of one.entries()) expect(Math.abs(four[pass]! - error)).toBeLessThan(0.001)
    expect(cluster.on(0, `cd ${folder} && sh evaluate.sh log/train.log`)).toContain(
      `a root mean square error of ${Math.min(...four).toFixed(4)} stars`,
    )
  })
})

const shown = (errors: readonly number[]) => errors.map((error) => error.toFixed(4)).join(' ')
