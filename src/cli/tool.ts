/** @file `oarfish tool`: PaddleRec's programs under tools/, by name and with their arguments, from any folder. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import type { Tool } from '../jobs/launch/index.ts'
import { gpuboxTrainerCommand } from './gpubox-trainer.ts'
import { inferCommand } from './infer.ts'
import { underLauncher } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { psInferCommand, psOfflineInferCommand } from './ps-infer.ts'
import { psOnlineTrainerCommand, psTrainerCommand } from './ps-trainer.ts'
import { rehearseTraining } from './rehearse.ts'
import { trainCommand } from './train.ts'

export function toolCommand(io: CliIo): Command {
  return new Command('tool')
    .description("Run one of PaddleRec's tools, for example static_trainer, with its own arguments.")
    .argument('<name>', 'static_trainer, static_infer, static_ps_trainer, ...')
    .argument('[args...]', "the tool's arguments, for example -m config.yaml")
    .passThroughOptions()
    .helpOption('-h, --help', 'print help; of a tool: oarfish tool static_trainer --help')
    .action((name: string, args: readonly string[]) => runTool(name, args, io))
}

async function runTool(typed: string, args: readonly string[], io: CliIo): Promise<void> {
  const { TOOLS } = await import('../jobs/launch/index.ts')
  const name = oneOf('tool', TOOLS, typed.replace(/\.py$/, ''))
  const { command, dygraph = false } = RUNS[name]
  if (RUNS[name].alone && io.env['PADDLE_PSERVERS_IP_PORT_LIST']) throw trainsAlone(name)
  await underLauncher(io, () => rehearseTraining(args, io))
  const isStatic = dygraph && (await hasOnlyStatic(args))
  if (isStatic) openOutput(io, { json: args.includes('--json') }).emit({ kind: 'notice', message: STATIC_INSTEAD })
  await command(io)
    .name(`oarfish tool ${name}`)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out.write(text), writeErr: (text) => io.err.write(text) })
    .parseAsync(dygraph && !isStatic ? ['--mode', 'dygraph', ...args] : args, { from: 'user' })
}

interface ToolRun {
  readonly command: (io: CliIo) => Command
  /** Knows no parameter servers: started as a process of such a job, it would train everything alone. */
  readonly alone?: boolean
  /** A graph a batch, where the model has one. */
  readonly dygraph?: boolean
}

const STATIC_INSTEAD =
  'There is neither model.ts nor dygraph_model.ts beside the configuration: static_model.ts is used.'

const RUNS: Readonly<Record<Tool, ToolRun>> = {
  trainer: { command: trainCommand, dygraph: true, alone: true },
  static_trainer: { command: trainCommand, alone: true },
  infer: { command: inferCommand, dygraph: true, alone: true },
  static_infer: { command: inferCommand, alone: true },
  static_ps_trainer: { command: psTrainerCommand },
  static_ps_infer: { command: psInferCommand },
  static_ps_offline_infer: { command: psOfflineInferCommand },
  static_ps_online_trainer: { command: psOnlineTrainerCommand },
  static_gpubox_trainer: { command: gpuboxTrainerCommand },
}

/** Whether the model of `-m FILE` exists as static_model.ts alone, which has no dynamic graph. */
async function hasOnlyStatic(args: readonly string[]): Promise<boolean> {
  const { MODEL_FILES } = await import('../base/config/index.ts')
  const at = args.findIndex((word) => word === '-m' || word === '--config_yaml')
  const folder = dirname(args[at + 1] ?? '')
  const has = (file: string) => existsSync(join(folder, file))
  return at >= 0 && has('static_model.ts') && !MODEL_FILES.dygraph.some(has)
}

function trainsAlone(name: Tool): UserError {
  const instead = /infer/.test(name) ? 'static_ps_infer' : 'static_ps_trainer'
  return new UserError(`${name} works in one process, and this one belongs to a job with parameter servers.`, {
    code: 'TOOL_ALONE',
    hint: `Start tools/${instead}.py, with --mode dygraph for a graph a batch.`,
  })
}
