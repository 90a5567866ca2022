/** @file `oarfish check`: validates a configuration and says what it comes to, without training. */
import { Command } from 'commander'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions } from './options.ts'

export function checkCommand(io: CliIo): Command {
  const command = new Command('check').description('Validate a configuration without training.')
  return addConfigOptions(command).action(async (options: ConfigOptions) => {
    const { loadConfig } = await import('../config/index.ts')
    const { notices } = loadConfig({ path: options.config_yaml, overrides: options.opt ?? [] })
    for (const notice of notices) io.out.write(`note: ${notice}\n`)
    io.out.write(`${options.config_yaml} is valid.\n`)
  })
}
