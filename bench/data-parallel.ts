/**
 * @file Data parallel beside threads: the CTR DNN on 2 threads of one process, on 2 processes of this host by the ring, and by MPI.
 * They take turns. Prints a JSON line per run; processor time tells them apart even where the machine has other work.
 */
import { spawnSync } from 'node:child_process'
import { criteoLike } from './dataset.ts'
import { at, freeEndpoint, type Json, jsonLines } from './tools.ts'

const [rows = '400000', rounds = '3'] = process.argv.slice(2)
const data = await criteoLike(Number(rows), 'slot', 1)
const OARFISH = ['--import', at('bench', 'cpu-time.mjs'), at('bin', 'oarfish.js')]
const SETTINGS = [
  ...[`runner.train_data_dir=${data}/train`, `runner.test_data_dir=${data}/test`],
  ...['runner.epochs=1', 'runner.model_save_path='],
]
const ALLOW_ROOT = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' }

const command = (...overrides: string[]) => [
  ...[...OARFISH, 'train', '-m', at('models', 'rank', 'dnn', 'config_bigdata.yaml'), '--json'],
  ...['-o', ...SETTINGS, ...overrides],
]

interface Run {
  readonly name: string
  readonly processes: number
  readonly run: () => Promise<readonly Json[]>
}

const runs: readonly Run[] = [
  { name: '2 threads', processes: 1, run: () => jsonLines(process.execPath, command('runner.thread_num=2')) },
  { name: '2 processes, tables whole', processes: 2, run: () => ring() },
  { name: '2 processes, tables divided', processes: 2, run: () => ring('runner.replicated_table_mb=0') },
  ...['openmpi', 'mpich'].flatMap((kind) => {
    if (spawnSync('sh', ['-c', `command -v mpirun.${kind}`]).status !== 0) return []
    return [{ name: `2 processes, mpirun.${kind}`, processes: 2, run: () => mpirun(kind) }]
  }),
]

for (let round = 0; round < Number(rounds); round++) {
  for (const { name, processes, run } of runs) {
    const lines = await run()
    const { samples, samplesPerSecond, seconds } = lines.find(({ kind }) => kind === 'done')!
    const spent = lines.filter(({ kind }) => kind === 'cpu').map(({ seconds: own }) => Number(own))
    // Under mpirun rank 0 alone prints; the others do as much.
    const cpuMicroseconds =
      ((processes * spent.reduce((sum, own) => sum + own, 0)) / spent.length / Number(samples)) * 1e6
    console.log(JSON.stringify({ name, samples, samplesPerSecond, seconds, cpuMicroseconds }))
  }
}

async function ring(...overrides: string[]): Promise<readonly Json[]> {
  const endpoints = (await Promise.all([0, 1].map(freeEndpoint))).join(',')
  const ranks = [0, 1].map((rank) => {
    const env = { PADDLE_TRAINER_ENDPOINTS: endpoints, PADDLE_TRAINER_ID: String(rank) }
    return jsonLines(process.execPath, command('runner.use_fleet=True', ...overrides), env)
  })
  return (await Promise.all(ranks)).flat()
}

function mpirun(kind: string): Promise<readonly Json[]> {
  const args = ['-np', '2', process.execPath, ...command('runner.use_fleet=True')]
  return jsonLines(`mpirun.${kind}`, args, ALLOW_ROOT)
}
