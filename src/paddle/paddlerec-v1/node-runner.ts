/** @file A runner as one process of a job: a worker trains its part of the data, a server keeps weights, a rank trains with the others over MPI or the ring. */
import { phasesOf } from '../../base/config/index.ts'
import { type Cluster, psFlags, required } from '../../base/env/index.ts'
import { groupPlan, openGroup } from '../../training/collective/index.ts'
import { amongRanks, type JobCheckpoints, type TrainingRules, train, withServers } from '../../training/driver/index.ts'
import { runServer } from '../../training/ps/index.ts'
import { beginningOf } from '../../training/threads/index.ts'
import { filesInOrder, type ReadyPhase, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'
import { type HeldFolders, holdSaving, loadInitial, saveEpoch, savesAnything } from './saving.ts'

export async function nodeRunner(context: RunnerContext, cluster: Cluster): Promise<RunnerResult> {
  const { config, runner, emit, signal, env } = context
  // Training alone, as a worker of other programs would, is not what a job on a cluster is for.
  if (cluster.servers.length === 0) required(env, 'PADDLE_PSERVERS_IP_PORT_LIST')
  const [phase] = phasesOf(config.config, runner)
  const ready = await readyPhase(context, phase!)
  const flags = psFlags(env)
  if (cluster.role === 'server') {
    await runServer({ cluster, config: ready.loaded, emit, signal, settings: settingsOf(context, ready), ...flags })
    return { runner: runner.name, samples: 0, seconds: 0, metrics: {} }
  }
  const { samples, seconds, metrics } = await train(
    { config: ready.loaded, emit, signal, engine: context.engine, rules: rulesOf(context, ready) },
    withServers({ cluster, ...flags }),
  )
  return { runner: runner.name, samples, seconds, metrics: { [phase!.name]: metrics } }
}

/** A phase as a job of several processes. */
export function rulesOf(context: RunnerContext, ready: ReadyPhase): TrainingRules {
  return {
    files: { train: ready.files },
    filesOf: (epoch) => filesInOrder(ready, epoch),
    checkpoints: checkpointsOf(context, ready),
    settings: settingsOf(context, ready),
  }
}

/** What it starts from and keeps: one folder for all of its processes. */
function checkpointsOf(context: RunnerContext, ready: ReadyPhase): JobCheckpoints {
  const { runner } = context
  const load: JobCheckpoints['load'] = async ({ params }) => {
    await loadInitial(context, ready.phase, params)
    return beginningOf(0)
  }
  let held: HeldFolders | undefined
  return {
    prepare: async () => {
      held = await holdSaving(context)
    },
    close: () => held?.release(),
    load: runner.init_model_path === '' ? undefined : load,
    saves: (epoch) => savesAnything(runner, epoch),
    save: async ({ params }, epoch, { metrics }) => {
      await saveEpoch({ ...context, held }, { ...ready, params, folder: '' }, epoch, metrics)
      return undefined
    },
  }
}

export async function ranksRunner(context: RunnerContext): Promise<RunnerResult> {
  const { config, runner, emit, signal, env, engine } = context
  const [phase] = phasesOf(config.config, runner)
  const ready = await readyPhase(context, phase!)
  const plan = groupPlan(env, 'auto', ready.loaded.config.runner)
  if (plan.kind === 'ring' && plan.warning) emit({ kind: 'warning', message: plan.warning })
  const group = await openGroup(plan, (message) => emit({ kind: 'notice', message }))
  try {
    const { samples, seconds, metrics } = await train(
      { config: ready.loaded, emit, signal, engine, rules: rulesOf(context, ready) },
      amongRanks(group),
    )
    await group.close()
    return { runner: runner.name, samples, seconds, metrics: { [phase!.name]: metrics } }
  } catch (error) {
    await group.close(error as Error).catch(() => undefined)
    throw error
  }
}
