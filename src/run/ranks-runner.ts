/** @file A runner as one rank of a collective job: over MPI where mpirun or srun started it, over the ring otherwise. */
import { groupPlan, openGroup } from '../collective/index.ts'
import { phasesOf } from '../config/index.ts'
import { trainRanks } from '../train/index.ts'
import { checkpointsOf } from './node-runner.ts'
import { filesInOrder, readyPhase, settingsOf } from './phase.ts'
import type { RunnerContext, RunnerResult } from './run.ts'

export async function ranksRunner(context: RunnerContext): Promise<RunnerResult> {
  const { config, runner, emit, signal, env, engine } = context
  const [phase] = phasesOf(config.config, runner)
  const ready = await readyPhase(context, phase!)
  const group = await openGroup(groupPlan(env), (message) => emit({ kind: 'notice', message }))
  try {
    const { samples, seconds, metrics } = await trainRanks({
      ...{ group, emit, signal, engine, config: ready.loaded, settings: settingsOf(context, ready) },
      files: { train: ready.files },
      ...(phase!.shuffle_filelist && { filesOf: (epoch: number) => filesInOrder(ready, epoch) }),
      checkpoints: checkpointsOf(context, ready),
    })
    await group.close()
    return { runner: runner.name, samples, seconds, metrics: { [phase!.name]: metrics } }
  } catch (error) {
    await group.close(error as Error).catch(() => undefined)
    throw error
  }
}
