/** @file `oarfish tool`: PaddleRec's programs under tools/, by name and with their arguments, from any folder. */
import { Command } from 'commander'
import type { Tool } from '../launch/index.ts'
import { UserError } from '../util/index.ts'
import { inferCommand } from './infer.ts'
import type { CliIo } from './io.ts'
import { oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { psTrainerCommand } from './ps-trainer.ts'
import { trainCommand } from './train.ts'
import { underLauncher } from './under-launcher.ts'

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
  const { TOOLS } = await import('../launch/index.ts')
  const name = oneOf('tool', TOOLS, typed.replace(/\.py$/, ''))
  const { command, notice } = RUNS[name]
  if (!command) throw notInBuild(name)
  await underLauncher(io)
  if (notice) openOutput(io, { json: args.includes('--json') }).emit({ kind: 'notice', message: notice })
  await command(io)
    .name(`oarfish tool ${name}`)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out.write(text), writeErr: (text) => io.err.write(text) })
    .parseAsync(args, { from: 'user' })
}

interface ToolRun {
  /** Undefined: not in this build. */
  readonly command?: (io: CliIo) => Command
  readonly notice?: string
}

const STATIC_INSTEAD = 'Dynamic graphs are not in this build yet: the static model (static_model.ts) is used.'

const RUNS: Readonly<Record<Tool, ToolRun>> = {
  trainer: { command: trainCommand, notice: STATIC_INSTEAD },
  static_trainer: { command: trainCommand },
  infer: { command: inferCommand, notice: STATIC_INSTEAD },
  static_infer: { command: inferCommand },
  static_ps_trainer: { command: psTrainerCommand },
  static_ps_infer: {},
  static_ps_offline_infer: {},
  static_ps_online_trainer: {},
  static_gpubox_trainer: {},
}

function notInBuild(name: Tool): UserError {
  const known = Object.entries(RUNS).filter(([, { command }]) => command)
  return new UserError(`The tool ${name} is not in this build.`, {
    code: 'TOOL_NOT_IN_BUILD',
    hint: `These are: ${known.map(([other]) => other).join(', ')}.`,
  })
}
