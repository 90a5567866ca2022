/** @file Options that several commands share, with PaddleRec's names. */
import type { Command } from 'commander'

export interface ConfigOptions {
  readonly config_yaml: string
  readonly opt?: readonly string[]
}

export function addConfigOptions(command: Command): Command {
  return command
    .requiredOption(
      '-m, --config_yaml <file>',
      "the model's config.yaml, or paddlerec.models.rank.dnn for one that ships with oarfish",
    )
    .option('-o, --opt <key=value...>', 'change keys of the configuration, for example runner.epochs=2')
}
