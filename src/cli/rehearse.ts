/** @file What a process does that was started ahead of its turn: it goes through the part of its start that takes time and leaves nothing behind. */
import { Command } from 'commander'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, modeOption, oneOf } from './options.ts'

/** `args` are those of the command that will run. */
export async function rehearseTraining(args: readonly string[], { env }: Pick<CliIo, 'env'>): Promise<void> {
  const { config_yaml, opt = [], mode } = readOptions(args)
  const { rehearse } = await import('../library/index.ts')
  const { loadConfig } = await import('../base/config/index.ts')
  const { GRAPH_MODES } = await import('../model/index.ts')
  await rehearse(loadConfig({ path: config_yaml, overrides: opt }), oneOf('--mode', GRAPH_MODES, mode), env)
}

/** Those that say what is trained; the others are the command's. */
function readOptions(args: readonly string[]): ConfigOptions & { readonly mode: string } {
  return addConfigOptions(new Command())
    .addOption(modeOption())
    .allowUnknownOption()
    .allowExcessArguments()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parse(args, { from: 'user' })
    .opts()
}
