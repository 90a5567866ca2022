/** @file One training of a model or of its twin, in a process of its own: metrics on the test rows and what it took. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { at, type Json, jsonLines, scratch } from '../tools.ts'
import { RATE, SETS, type ZooModel } from './models.ts'

export interface Run {
  readonly metrics: Readonly<Record<string, number>>
  /** Training samples for each second of processor time: what other programs do at the same time hardly counts. */
  readonly rate: number
}

export interface Job extends ZooModel {
  readonly model: string
  readonly data: string
  readonly seed: number
  readonly epochs: number
  /** Keys that the set's own preparation found. */
  readonly found: Readonly<Record<string, unknown>>
}

/** The processor time of a process so far, in seconds; Linux counts hundredths. */
function cpuOf(pid: number): number {
  const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const columns = rest!.split(' ')
  return (Number(columns[11]) + Number(columns[12])) / 100
}

/** `oarfish train`, one thread. The rate is that of the last epoch, reading included: the first one also compiles and starts threads. */
export async function trainModel({
  model,
  data,
  seed,
  epochs,
  hyper,
  found,
  set,
  rate: learning = RATE,
  ...job
}: Job): Promise<Run> {
  const runner = [`train_data_dir=${data}/train`, `test_data_dir=${data}/test`, `seed=${seed}`, `epochs=${epochs}`]
  const { batch } = SETS[set]
  const sizes = [
    `train_batch_size=${batch}`,
    `infer_batch_size=${SETS[set].rows ? batch : 1024}`,
    'thread_num=1',
    'model_save_path=',
  ]
  const keys = { [job.rateKey ?? 'optimizer.learning_rate']: learning, ...found, ...hyper }
  const args = [
    ...[...runner, ...sizes, 'reader_type=RecDataset', 'train_reader_path=reader', 'infer_reader_path=reader'].map(
      (item) => `runner.${item}`,
    ),
    ...Object.entries(keys).map(
      ([key, value]) => `hyper_parameters.${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ]
  const config = at('models', model, 'config_bigdata.yaml')
  const child = spawn(process.execPath, [at('bin', 'oarfish.js'), 'train', '-m', config, '--json', '-o', ...args], {
    cwd: scratch(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [before, rate, problem] = [0, 0, '']
  let done: Json | undefined
  child.stderr.on('data', (text) => {
    problem += text
  })
  const closed = new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  for await (const line of createInterface({ input: child.stdout })) {
    const event = line.startsWith('{') ? (JSON.parse(line) as Json) : {}
    if (event['kind'] === 'done') done = event
    if (event['kind'] === 'error') problem += line
    if (event['kind'] !== 'epoch') continue
    const cpu = cpuOf(child.pid!)
    if (event['phase'] === 'infer') before = cpu
    else rate = Number(event['samples']) / Math.max(cpu - before, 0.01)
  }
  if ((await closed) !== 0 || !done) throw new Error(`${model} did not train:\n${problem.slice(-3000)}`)
  const { loss: _, ...metrics } = done['evaluation'] as Record<string, number>
  return { metrics, rate }
}

/** The same by PyTorch, eager, one thread: a run for each seed, in one process that reads the samples once. */
export async function trainTwin(
  python: string,
  { model, data, epochs, hyper, twin, decay, found, set, rate = RATE, sgd, beta2 }: Omit<Job, 'seed'>,
  seeds: readonly number[],
): Promise<readonly Run[]> {
  const { columns, sparse, batch } = SETS[set]
  const job = {
    model,
    train: `${data}/train`,
    test: `${data}/test`,
    hyper: { ...found, ...hyper, ...twin },
    ...{ batch, epochs, rate, seeds, threads: 1, columns, sparse, decay, sgd, beta2 },
  }
  const lines = await jsonLines(python, [at('bench', 'zoo', 'train_twin.py'), JSON.stringify(job)])
  return lines.map((line) => {
    const { metrics, samples, cpu } = line as unknown as { metrics: Run['metrics']; samples: number; cpu: number }
    return { metrics, rate: samples / cpu }
  })
}
