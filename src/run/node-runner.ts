/** @file A runner as one process of a job with parameter servers: a worker trains its part of the data, a server keeps weights. */
import { phasesOf } from '../config/index.ts'
import { type Cluster, psFlags, required } from '../env/index.ts'
import { runServer } from '../ps/index.ts'
import { type JobCheckpoints, trainWorker } from '../train/index.ts'
import { filesInOrder, type ReadyPhase, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'
import { loadInitial, saveEpoch, savesAnything } from './saving.ts'

export async function nodeRunner(context: RunnerContext, cluster: Cluster): Promise<RunnerResult> {
  const { config, runner, emit, signal, env } = context
  // Training alone, as a worker of other programs would, is not what a job on a cluster is for.
  if (cluster.servers.length === 0) required(env, 'PADDLE_PSERVERS_IP_PORT_LIST')
  const [phase] = phasesOf(config.config, runner)
  const ready = await readyPhase(context, phase!)
  const common = { cluster, config: ready.loaded, emit, signal, settings: settingsOf(context, ready), ...psFlags(env) }
  if (cluster.role === 'server') {
    await runServer(common)
    return { runner: runner.name, samples: 0, seconds: 0, metrics: {} }
  }
  const { samples, seconds, metrics } = await trainWorker({
    ...common,
    engine: context.engine,
    files: { train: ready.files },
    filesOf: (epoch) => filesInOrder(ready, epoch),
    checkpoints: checkpointsOf(context, ready),
  })
  return { runner: runner.name, samples, seconds, metrics: { [phase!.name]: metrics } }
}

/** What a job of several processes starts from and keeps: one folder for all of them. */
export function checkpointsOf(context: RunnerContext, ready: ReadyPhase): JobCheckpoints {
  const { runner } = context
  const load: JobCheckpoints['load'] = async ({ params }) => {
    await loadInitial(context, ready.phase, params)
    return 0
  }
  return {
    prepare: async () => undefined,
    load: runner.init_model_path === '' ? undefined : load,
    saves: (epoch) => savesAnything(runner, epoch),
    save: ({ params }, epoch, { metrics }) => saveEpoch(context, { ...ready, params, folder: '' }, epoch, metrics),
  }
}
