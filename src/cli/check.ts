/** @file `oarfish check`: validates a configuration, its model and its data without training. */
import { Command } from 'commander'
import type { LoadedConfig } from '../base/config/index.ts'
import { UserError } from '../base/util/index.ts'
import type { GraphMode } from '../model/index.ts'
import type { TableForecast } from '../training/driver/index.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, oneOf } from './options.ts'

interface CheckOptions extends ConfigOptions {
  readonly explain?: boolean
  readonly json?: boolean
  readonly mode: string
}

export function checkCommand(io: CliIo): Command {
  const command = new Command('check').description(
    'Validate a configuration (also of PaddleRec 1.x), its model, and the first lines of its data.',
  )
  return addConfigOptions(command)
    .option('--mode <name>', 'static (one graph) or dygraph (a graph a batch)', 'static')
    .option('--explain', 'print the settings of the run')
    .option('--json', 'print one JSON line: notices and settings, or the error')
    .action((options: CheckOptions) => check(options, io))
}

interface Checked {
  readonly notices: readonly string[]
  /** What tables will take, from a sample of the data. */
  readonly tables: readonly TableForecast[]
  readonly settings: Readonly<Record<string, unknown>>
}

async function check(options: CheckOptions, io: CliIo): Promise<void> {
  const { config_yaml, explain: showSettings, json } = options
  const { formatSettings, isRunConfigFile } = await import('../base/config/index.ts')
  const { notices, settings, tables } = isRunConfigFile(config_yaml) ? await checkV1(options) : await checkV2(options)
  if (json) {
    io.out.write(`${JSON.stringify({ kind: 'valid', config: config_yaml, notices, tables, settings })}\n`)
    return
  }
  for (const notice of notices) io.out.write(`note: ${notice}\n`)
  if (tables.length > 0) {
    const { forecastText } = await import('../training/driver/index.ts')
    for (const line of tables.flatMap(forecastText)) io.out.write(`${line}\n`)
  }
  if (showSettings) io.out.write(`${formatSettings(settings)}\n`)
  io.out.write(`${config_yaml} is valid.\n`)
}

async function checkV2({ config_yaml, opt = [], mode }: CheckOptions): Promise<Checked> {
  const { checkDataDirs, explain, loadConfig } = await import('../base/config/index.ts')
  const { GRAPH_MODES } = await import('../model/index.ts')
  const loaded = loadConfig({ path: config_yaml, overrides: opt })
  checkDataDirs(loaded)
  const tables = await checkModel(loaded, oneOf('--mode', GRAPH_MODES, mode))
  return { notices: loaded.notices, tables, settings: explain(loaded.config) }
}

/** Every phase that `oarfish run` would run. */
async function checkV1({ config_yaml, opt = [] }: CheckOptions): Promise<Checked> {
  if (opt.length > 0)
    throw new UserError(`-o: ${config_yaml} is of the PaddleRec 1.x form, of which keys are changed in the file.`, {
      code: 'CLI_OPTION',
    })
  const { checkRun, flattenRunConfig, loadRunConfig, phaseJob, phasesOf, selectedRunners } = await import(
    '../base/config/index.ts'
  )
  const loaded = loadRunConfig({ path: config_yaml })
  // Whether a backend.yaml goes with it is not known here.
  checkRun(loaded, { backend: false, node: true })
  for (const runner of selectedRunners(loaded.config))
    for (const phase of phasesOf(loaded.config, runner))
      await checkModel(phaseJob(loaded, runner, phase).loaded, 'static')
  return { notices: [...loaded.warnings, ...loaded.notices], tables: [], settings: flattenRunConfig(loaded) }
}

async function checkModel(loaded: LoadedConfig, mode: GraphMode): Promise<readonly TableForecast[]> {
  const { loadModelAs } = await import('../model/index.ts')
  const { checkData, findDataFiles, readFirstSamples } = await import('../training/threads/index.ts')
  const { checkTables } = await import('../weights/table/index.ts')
  const model = await loadModelAs(mode, loaded)
  const { optimizer, tableOptimizers } = model
  checkTables(model.train.tables, loaded.config.table_parameters, (name) => tableOptimizers[name] ?? optimizer)
  const phases =
    loaded.config.runner.train_data_dir === undefined ? ['infer' as const] : ['train' as const, 'infer' as const]
  const files = await findDataFiles(loaded.config, phases)
  await checkData(loaded, model, files)
  await readFirstSamples(loaded, model, files)
  const { forecastTables } = await import('../training/driver/index.ts')
  return forecastTables(loaded, model, files)
}
