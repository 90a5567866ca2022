/** @file A start without its effects: what a process of a job loads and compiles before it says or reads anything of the job. */
import type { LoadedConfig } from '../base/config/index.ts'
import { clusterFromEnv, type Env } from '../base/env/index.ts'
import { builtFile, makeThreads } from '../base/util/index.ts'
import type { GraphMode, TracedModel } from '../model/index.ts'

/** Afterwards the same start takes a fraction of its time. */
export async function rehearse(config: LoadedConfig, mode: GraphMode, env: Env): Promise<void> {
  const { role } = clusterFromEnv(env)
  const { loadModelAs } = await import('../model/index.ts')
  const model = await loadModelAs(mode, config)
  await import('../base/runs/index.ts')
  await (role === 'server' ? rehearseServer(config) : rehearseTraining(config, model, role === 'worker'))
}

async function rehearseServer({ config: { runner } }: LoadedConfig): Promise<void> {
  makeThreads(builtFile('base/net/pulse-thread'), 1, OWN_WORDS)
  makeThreads(builtFile('training/ps/shard-thread'), runner.server_threads - 1)
  await import('../training/ps/index.ts')
}

async function rehearseTraining(
  { config: { runner } }: LoadedConfig,
  { train, infer, dygraph }: TracedModel,
  hasServers: boolean,
): Promise<void> {
  const { readerThreads } = await import('../training/threads/index.ts')
  const rehearsal = dygraph ? undefined : [train, infer]
  makeThreads(builtFile('training/threads/trainer-thread'), runner.thread_num, { rehearsal })
  makeThreads(builtFile(hasServers ? 'base/net/pulse-thread' : 'training/collective/thread'), 1, OWN_WORDS)
  makeThreads(builtFile('data/reader-thread'), readerThreads(runner), OWN_WORDS)
  await import('../training/driver/index.ts')
}

/** These threads are started without the words of the process. */
const OWN_WORDS = { execArgv: [] }
