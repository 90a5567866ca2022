/** @file PaddlePaddle's recommendation demo on four hosts, as its guide runs it: dispatched, trained by all together, the model on node 0. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { testCosts } from '../trainer/job.testing.ts'
import { clusterTools, openCluster, type TestCluster } from './ssh-cluster.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const lacking = clusterTools()
if (lacking !== undefined) console.warn(`ssh-cluster is skipped: ${lacking}`)

describe.skipIf(lacking !== undefined)('ssh-cluster: the recommendation demo on four hosts', () => {
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await openCluster('ssht', 4)
    for (const { name } of cluster.hosts) cluster.program(name, 'oarfish', `exec ${at('bin/path/oarfish')} "$@"`)
    cpSync(at('examples/recommendation'), join(cluster.folder, 'workspace'), { recursive: true })
    writeMovieLens(join(cluster.folder, 'movielens'))
    execFileSync('sh', [join(cluster.folder, 'workspace/preprocess.sh'), join(cluster.folder, 'movielens')])
  })
  afterAll(() => cluster?.close())

  test('trains as one machine does with four times the batch, each rating read once; the next dispatch uploads nothing', async () => {
    const env = {
      CONF: cluster.conf(),
      WORKSPACE: join(cluster.folder, 'workspace'),
      NUM_PASSES: '2',
      TRAINER_COUNT: '1',
    }
    const run = () => cluster.sh([at('deploy/cluster_train/run.sh'), '--config_args=size=8,batch_size=40'], env)
    const first = await run().ended
    expect(first.code, first.out).toBe(0)
    const [, folder] = /, (\S+) on each/.exec(first.out)!
    expect(first.out).toContain(`its models are in root@10.77.0.2:${folder}/output`)
    const written = [0, 1].map((i) =>
      cluster.on(i, `ls ${folder} ${folder}/log; ls ${folder}/output 2>/dev/null || true`).split('\n'),
    )
    expect(written[0]).toEqual(
      expect.arrayContaining([
        'nodefile',
        'paddle_pserver2.INFO',
        'paddle_trainer.INFO',
        'server.log',
        'train.log',
        'pass-00000',
        'pass-00001',
      ]),
    )
    expect(written[1]).not.toContain('pass-00000')
    expect(first.out).toMatch(/train\.list: all 4 trainers have the same \d+ files: they are dealt out/)
    expect(first.out).toMatch(/Pass=1 samples=2160 /)

    const alone = cluster.on(
      0,
      `cd ${folder} && oarfish trainer --config=./trainer_config.ts --config_args=size=8,batch_size=160 --num_passes=2 --log_dir=alone`,
    )
    const [together, one] = [first.out, alone].map(testCosts)
    expect(together).toHaveLength(2)
    for (const [pass, cost] of one!.entries()) expect(together![pass]).toBeCloseTo(cost, 3)

    const again = run()
    await again.printed(/on 4 hosts, 0 uploaded \(0 bytes\)/)
    await again.printed(/worker 3 runs/)
    again.child.kill('SIGINT')
    expect((await again.ended).code).toBe(130)
  })
})

/** A folder as MovieLens 1M has it: 40 users, 60 movies, every rating a function of both. */
function writeMovieLens(folder: string): void {
  mkdirSync(folder)
  const range = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
  const write = (name: string, lines: readonly string[]) => writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
  const words = ['red', 'river', 'night', 'moon', 'last']
  write(
    'users.dat',
    range(40).map((u) => `${u}::${u % 2 ? 'M' : 'F'}::${u % 3 ? 25 : 35}::${u % 5}::00000`),
  )
  write(
    'movies.dat',
    range(60).map((m) => `${m}::The ${words[m % 5]} ${words[m % 3]} (1995)::${m % 2 ? 'Drama' : 'Comedy|War'}`),
  )
  write(
    'ratings.dat',
    range(40).flatMap((u) => range(60).map((m) => `${u}::${m}::${1 + (((u % 2) + (m % 2) * 2 + (u % 3)) % 5)}::0`)),
  )
}
