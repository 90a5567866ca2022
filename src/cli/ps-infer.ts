/** @file static_ps_infer and static_ps_offline_infer: saved models evaluated by a server or a worker of a job, or alone. */
import { Command } from 'commander'
import type { ProcessRole } from '../base/env/index.ts'
import type { EventSink } from '../base/event/index.ts'
import { untilDone } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions } from './options.ts'
import { openOutput } from './output.ts'

interface PsInferOptions extends ConfigOptions {
  readonly json?: boolean
}

export const psInferCommand = (io: CliIo) =>
  inferCommand(
    'static_ps_infer',
    'Evaluate the saved epochs from runner.infer_start_epoch to runner.infer_end_epoch on parameter servers, as TRAINING_ROLE says; alone without it.',
    (options) => runPsInfer(options, false, io),
  )

export const psOfflineInferCommand = (io: CliIo) =>
  inferCommand(
    'static_ps_offline_infer',
    'Evaluate runner.init_model_path over runner.data_dir on parameter servers, as TRAINING_ROLE says; alone without it.',
    (options) => runPsInfer(options, true, io),
  )

const inferCommand = (name: string, description: string, run: (options: PsInferOptions) => Promise<void>) =>
  addConfigOptions(new Command(name).description(description))
    .option('--json', 'print events as JSON lines')
    .action(run)

async function runPsInfer({ config_yaml, opt = [], json = false }: PsInferOptions, offline: boolean, io: CliIo) {
  const { loadConfig } = await import('../base/config/index.ts')
  const { clusterFromEnv, psFlags } = await import('../base/env/index.ts')
  const { evaluateWithServers, infer, offlineInfer } = await import('../training/driver/index.ts')
  const cluster = clusterFromEnv(io.env)
  const loaded = loadConfig({ path: config_yaml, overrides: opt })
  const what = offline ? offlineInfer(loaded) : { config: loaded }
  const output = openOutput(io, { json })
  const { runServer } = await import('../training/ps/index.ts')
  const flags = psFlags(io.env)
  const works: {
    readonly [R in ProcessRole]: (options: { emit: EventSink; signal: AbortSignal }) => Promise<unknown>
  } = {
    local: (options) => infer({ ...what, ...options }),
    worker: (options) => infer({ ...what, ...options }, evaluateWithServers({ cluster, ...flags })),
    server: (options) => runServer({ cluster, config: what.config, rowsOnly: false, ...flags, ...options }),
  }
  await untilDone(io, output, (signal) => works[cluster.role]({ emit: output.emit, signal }))
}
