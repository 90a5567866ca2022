/** @file `oarfish check`: validates a configuration, its model and its data without training. */
import { Command } from 'commander'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf } from './options.ts'

interface CheckOptions extends ConfigOptions {
  readonly explain?: boolean
  readonly json?: boolean
  readonly mode: string
}

export function checkCommand(io: CliIo): Command {
  const command = new Command('check').description(
    'Validate a configuration, its model, and the first lines of its data.',
  )
  return addConfigOptions(command)
    .option('--mode <name>', 'static (static_model.ts) or dygraph (dygraph_model.ts)', 'static')
    .option('--explain', 'print the settings of the run')
    .option('--json', 'print one JSON line: notices and settings, or the error')
    .action((options: CheckOptions) => check(options, io))
}

async function check(
  { config_yaml, opt = [], explain: showSettings, json, mode }: CheckOptions,
  io: CliIo,
): Promise<void> {
  const { checkDataDirs, explain, formatSettings, loadConfig } = await import('../config/index.ts')
  const { GRAPH_MODES, loadModelAs } = await import('../model/index.ts')
  const { checkData, findDataFiles } = await import('../train/index.ts')
  const { checkTables } = await import('../table/index.ts')
  const loaded = loadConfig({ path: config_yaml, overrides: opt })
  checkDataDirs(loaded)
  const model = await loadModelAs(oneOf('--mode', GRAPH_MODES, mode), loaded)
  const { optimizer, tableOptimizers } = model
  checkTables(model.train.tables, loaded.config.table_parameters, (name) => tableOptimizers[name] ?? optimizer)
  await checkData(loaded, model, await findDataFiles(loaded.config, ['train', 'infer']))
  const { notices } = loaded
  const settings = explain(loaded.config)
  if (json) {
    io.out.write(`${JSON.stringify({ kind: 'valid', config: config_yaml, notices, settings })}\n`)
    return
  }
  for (const notice of notices) io.out.write(`note: ${notice}\n`)
  if (showSettings) io.out.write(`${formatSettings(settings)}\n`)
  io.out.write(`${config_yaml} is valid.\n`)
}
