/** @file Who else is fed with the events of a run, where that is asked for: TensorBoard's files, an MLflow server, Prometheus' port. */
import { basename, join } from 'node:path'
import type { LoadedConfig } from '../config/index.ts'
import { type Env, splitList } from '../env/index.ts'
import type { EventSink } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { openMetrics } from './metrics-port.ts'
import { partOf } from './run-name.ts'
import type { RunRole } from './run-paths.ts'
import { openTensorBoardFile } from './tensorboard.ts'

export interface Watcher {
  readonly add: EventSink
  close(): void | Promise<void>
}

interface WatchedRun {
  readonly config: Pick<LoadedConfig, 'config'>
  readonly env: Env
  readonly emit: EventSink
}

export async function openWatchers(run: WatchedRun, folder: string | undefined): Promise<readonly Watcher[]> {
  const opened = await Promise.all([openTensorBoard(run, folder), openMlflow(run, folder), openPort(run, folder)])
  return opened.filter((one) => one !== undefined)
}

/** Of a job the first trainer writes: what it measures is of all. */
async function openTensorBoard(
  { config, env, emit }: WatchedRun,
  folder: string | undefined,
): Promise<Watcher | undefined> {
  const { use_visual, tensorboard } = config.config.runner
  const { role, rank } = partOf(env)
  if ((!use_visual && tensorboard === undefined) || role === 'server' || rank > 0) return undefined
  const failed = (error: Error) =>
    emit({ kind: 'warning', message: `TensorBoard's files cannot be written: ${error.message}` })
  try {
    const writer = await openTensorBoardFile(tensorboard ?? join(folder ?? '.', 'tensorboard'), failed)
    return { add: (event) => writer.add(event, Date.now()), close: () => writer.close() }
  } catch (error) {
    failed(error as Error)
    return undefined
  }
}

async function openMlflow({ config, env, emit }: WatchedRun, folder: string | undefined): Promise<Watcher | undefined> {
  const { mlflow: server, mlflow_experiment } = config.config.runner
  const { role, rank } = partOf(env)
  if (server === undefined || role === 'server' || rank > 0) return undefined
  const model = basename(config.config.dir)
  const { MlflowRun } = await import('./mlflow.ts')
  return new MlflowRun({
    server,
    experiment: mlflow_experiment ?? model,
    name: folder === undefined ? model : basename(folder),
    env,
    warn: (message) => emit({ kind: 'warning', message }),
  })
}

/** `OARFISH_METRICS_PORT` is that of the job: servers have the first ports, trainers those that follow. */
async function openPort({ env, emit }: WatchedRun, folder: string | undefined): Promise<Watcher | undefined> {
  const asked = env['OARFISH_METRICS_PORT']
  if (!asked) return undefined
  const { role, rank } = partOf(env)
  const { host, port: first } = addressOf(asked)
  const port = first === 0 ? 0 : first + placeOf(role, rank, env)
  try {
    const labels = { run: folder === undefined ? '' : basename(folder), role, rank: String(rank) }
    const metrics = await openMetrics({ host, port, labels })
    emit({ kind: 'notice', message: `Metrics: http://${host}:${metrics.port}/metrics` })
    return metrics
  } catch (error) {
    emit({ kind: 'warning', message: `Metrics cannot be had at ${host}:${port}: ${(error as Error).message}` })
    return undefined
  }
}

function placeOf(role: RunRole, rank: number, env: Env): number {
  return role === 'worker' ? splitList(env['PADDLE_PSERVERS_IP_PORT_LIST'] ?? '').length + rank : rank
}

/** `9100`, on this host alone, or `0.0.0.0:9100`. */
export function addressOf(text: string): { readonly host: string; readonly port: number } {
  const [, host = '127.0.0.1', digits] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (digits !== undefined && port <= 65_535) return { host, port }
  throw new UserError(`--metrics_port: ${JSON.stringify(text)} is no port.`, {
    code: 'CLI_OPTION',
    hint: 'A number, for this host alone, or with the address to listen at: 0.0.0.0:9100',
  })
}
