/** @file A fluid program with Fleet beside `fleetrun` on the same model: 2 workers, 2 servers. JSON lines. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { criteoLike } from './dataset.ts'
import { at } from './tools.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '400000' },
    rounds: { type: 'string', default: '3' },
    mode: { type: 'string', default: 'async' },
  },
})

const data = await criteoLike(Number(options.rows), 'multislot', 1, 'train')
const test = await criteoLike(Number(options.rows), 'multislot', 1, 'test')
for (let round = 0; round < Number(options.rounds); round++) {
  const [fluid, fleetrun] = [fluidRate(), fleetrunRate()]
  console.log(JSON.stringify({ round, fluid, fleetrun, ratio: fluid / fleetrun }))
}

/** Samples of both workers over the time of the slower one. */
function fluidRate(): number {
  return inFolder((logs) => {
    const script = [at('bench', 'fluid-ctr.ts'), data, '512', '1', options.mode]
    launch('oarfish.js', [
      'launch_ps',
      '--worker_num',
      '2',
      '--server_num',
      '2',
      '--start_port',
      '27170',
      `--log_dir=${logs}`,
      ...script,
    ])
    const workers = readdirSync(logs)
      .filter((name) => name.startsWith('workerlog'))
      .map((name) => /^\{"worker".*$/m.exec(readFileSync(join(logs, name), 'utf8')))
      .map((line) => JSON.parse(line![0]) as { samples: number; seconds: number })
    const samples = workers.reduce((sum, worker) => sum + worker.samples, 0)
    return samples / Math.max(...workers.map(({ seconds }) => seconds))
  })
}

function fleetrunRate(): number {
  return inFolder((logs) => {
    const settings = [
      `train_data_dir=${data}`,
      `test_data_dir=${test}`,
      `sync_mode=${options.mode}`,
      'thread_num=1',
      'epochs=1',
      'model_save_path=',
      'train_batch_size=512',
    ]
    const config = [
      '-m',
      at('models', 'rank', 'dnn', 'config_bigdata.yaml'),
      '-o',
      ...settings.map((text) => `runner.${text}`),
    ]
    launch('fleetrun.js', [
      '--worker_num=2',
      '--server_num=2',
      `--log_dir=${logs}`,
      'tools/static_ps_trainer.py',
      ...config,
    ])
    const log = readFileSync(join(logs, 'workerlog.0'), 'utf8')
    return Number(/^.*ips:? ([\d.]+) example\/sec/m.exec(log)![1])
  })
}

function launch(bin: string, args: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync(process.execPath, [at('bin', bin), ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${bin} ended with ${status}: ${stdout.slice(-2000)}${stderr}`)
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-bench-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
