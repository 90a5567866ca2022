/**
 * @file `oarfish cluster` on four hosts: from the command to the first step, with files that are new to the hosts, then with files that they
 * have. JSON lines. Needs root, for hosts in namespaces. With OARFISH_DATA the workspace is the demo with MovieLens-100k, else 1 MB.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clusterTools, openCluster, type TestCluster } from '../test/netns/ssh-cluster.testing.ts'
import { at, median } from './tools.ts'

const RUNS = Number(process.argv[2] ?? 3)
const HOSTS = 4
const { OARFISH_DATA } = process.env

const lacking = clusterTools()
if (lacking) throw new Error(lacking)
const cluster = await openCluster('benchssh', HOSTS)
try {
  for (const { name } of cluster.hosts) cluster.program(name, 'oarfish', `exec ${at('bin/path/oarfish')} "$@"`)
  const workspace = join(cluster.folder, 'workspace')
  cpSync(at('examples/recommendation'), workspace, { recursive: true })
  if (OARFISH_DATA) execFileSync('sh', ['preprocess.sh', join(OARFISH_DATA, 'ml-100k')], { cwd: workspace })
  print('first dispatch', [await toFirstStep(cluster, workspace, true)])
  const again: number[] = []
  for (let i = 0; i < RUNS; i++) again.push(await toFirstStep(cluster, workspace, false))
  print('unchanged, again', again)
} finally {
  cluster.close()
}
process.exit(0)

async function toFirstStep(cluster: TestCluster, workspace: string, fresh: boolean): Promise<number> {
  if (fresh && !OARFISH_DATA) writeFileSync(join(workspace, 'data/more'), randomBytes(900_000))
  const began = performance.now()
  const run = cluster.oarfish([
    ...['cluster', '--conf', cluster.conf({ PADDLE_PORTS_NUM_FOR_SPARSE: 2 }), `--job_dispatch_package=${workspace}`],
    ...['--config=./trainer_config.ts', '--config_args=batch_size=400', '--trainer_count=1', '--use_gpu=0'],
    ...['--num_passes=1', '--log_period=1', '--dot_period=0', '--local=0', '--saving_period=0'],
  ])
  await run.printed(/ Batch=1 samples=/)
  const ms = performance.now() - began
  for (const line of run.out().matchAll(/^.*(?:dispatched|all servers answer).*$/gm)) console.error(line[0])
  run.child.kill('SIGINT') // the next job is to find the hosts free
  await run.ended
  return ms
}

function print(name: string, times: readonly number[]): void {
  const rounded = times.map(Math.round)
  const what = `oarfish cluster on ${HOSTS} hosts to the first step, ${name}`
  console.log(JSON.stringify({ name: what, medianMs: Math.round(median(times)), times: rounded }))
}
