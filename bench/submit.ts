/** @file Submitting: how long `--dry-run` takes, and the way from the command to the first step on two MPI nodes. JSON lines. Needs root, for hosts in namespaces. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { filled, guideJobs, type MpiCluster, mpiTools, openMpiCluster } from '../test/submit/mpi-cluster.testing.ts'
import { median } from './tools.ts'

const RUNS = Number(process.argv[2] ?? 5)
const LIMIT_MS = 60_000
const RUN = ['run', '-m', 'config.yaml', '-b', 'backend.yaml'] as const

const lacking = mpiTools()
if (lacking) throw new Error(lacking)
const cluster = await openMpiCluster('bench')
try {
  cluster.begin()
  await prepare(cluster)
  const dry: number[] = []
  for (let i = 0; i < RUNS; i++) dry.push(await timed(() => cluster.oarfish(...RUN, '--dry-run')))
  print('dry run', dry)
  const first: number[] = []
  for (let i = 0; i < RUNS; i++) first.push(await toFirstStep(cluster))
  print('submit to first step on 2 MPI nodes', first)
} finally {
  cluster.end()
  cluster.close()
}
process.exit(0)

/** A job of the guide, for a job server that runs it by mpirun over ssh. */
async function prepare({ folder, serve }: MpiCluster): Promise<void> {
  const { config, backend } = guideJobs()[0]!
  const keys = await serve()
  const paths = { fs_name: `file://${folder()}/remote`, output_path: '/out', train_data_path: '/train', group: 'ctr' }
  const every = config.replace(/print_interval: \d+/, 'print_interval: 1')
  writeFileSync(join(folder(), 'work/config.yaml'), every)
  writeFileSync(join(folder(), 'work/backend.yaml'), filled(backend, { ...paths, ...keys }))
}

async function timed(work: () => Promise<{ readonly code: number; readonly text: string }>): Promise<number> {
  const began = performance.now()
  const { code, text } = await work()
  if (code !== 0) throw new Error(text)
  return performance.now() - began
}

async function toFirstStep({ oarfish, start }: MpiCluster): Promise<number> {
  const began = performance.now()
  const { text } = await oarfish(...RUN)
  const id = /"jobId": "([^"]+)"/.exec(text)?.[1]
  if (!id) throw new Error(text)
  const logs = start('logs', id, '-f', '--role', 'trainer', '--rank', '0')
  let seen = ''
  const ms = await new Promise<number>((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`no step within ${LIMIT_MS / 1000} s:\n${seen}`)), LIMIT_MS)
    logs.stdout!.on('data', (piece) => {
      seen += piece
      if (!/\[Train\],\s+epoch: 0/.test(seen)) return
      clearTimeout(timer)
      done(performance.now() - began)
    })
  })
  await new Promise((done) => logs.once('close', done)) // the next job is to find the nodes free
  return ms
}

function print(name: string, times: readonly number[]): void {
  const rounded = times.map(Math.round)
  console.log(
    JSON.stringify({ name, medianMs: Math.round(median(times)), worstMs: Math.max(...rounded), times: rounded }),
  )
}
