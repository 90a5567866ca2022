/** @file `oarfish sweep`: trains with other settings, run after run, and tells which were best. */
import { Command } from 'commander'
import type { RunResult } from '../library/index.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, countNumber, oneOf, wholeNumber } from './options.ts'

interface SweepCliOptions extends ConfigOptions {
  readonly set: readonly string[]
  readonly runs: number
  readonly strategy: string
  readonly parallel: number
  readonly seed: number
  readonly metric?: string
  readonly out: string
}

export function sweepCommand(io: CliIo): Command {
  const command = new Command('sweep').description(
    'Train with other values of some keys, each run in a process of its own, and compare them by the evaluation (docs/guide/sweep.md).',
  )
  return addConfigOptions(command)
    .requiredOption('--set <key=values...>', 'what to try: log:1e-4..1e-2, 0.1..0.5, int:8..64, or a list a,b,c')
    .option('--runs <n>', 'how many runs; a grid has as many as there are combinations', countNumber, 20)
    .option(
      '--strategy <name>',
      'random, grid, or halving: many runs for few epochs, the best third of them for more',
      'random',
    )
    .option('--parallel <n>', 'runs at a time', countNumber, 1)
    .option('--seed <n>', 'what values are drawn from', wholeNumber, 1)
    .option('--metric <name>', 'metric of the evaluation to compare by; auc unless given, else loss')
    .option('--out <folder>', 'where runs are kept; the same command again goes on with them', 'sweep')
    .action((options: SweepCliOptions) => runSweep(options, io))
}

async function runSweep(typed: SweepCliOptions, io: CliIo): Promise<void> {
  const { config_yaml: path, opt: overrides = [], strategy, ...options } = typed
  const { checkDataDirs, loadConfig } = await import('../base/config/index.ts')
  const { STRATEGIES, sweep } = await import('../library/index.ts')
  const known = oneOf('--strategy', STRATEGIES, strategy)
  const config = loadConfig({ path, overrides })
  checkDataDirs(config)
  const check = async (changed: readonly string[]) => {
    const { loadModel } = await import('../model/index.ts')
    await loadModel(loadConfig({ path, overrides: [...overrides, ...changed] }))
  }
  const say = (text: string) => io.out.write(`${text}\n`)
  const onRun = (run: RunResult) =>
    say(
      `run ${run.run}: ${trialText(run)}  ${valueText(run)}  (${run.epochs} ${run.epochs === 1 ? 'epoch' : 'epochs'}, ${run.seconds.toFixed(1)} s)`,
    )
  const hooks = {
    onStopping: () => say('Stopping the runs under way; the same command goes on from here.'),
    onLeaving: () => {},
  }
  await untilInterrupted(io, hooks, async (signal) => {
    const { runs, interrupted } = await sweep({
      ...options,
      config,
      path,
      overrides,
      strategy: known,
      env: io.env,
      signal,
      onRun,
      check,
    })
    if (interrupted) return
    for (const line of tableOf(runs)) say(line)
    const [best] = runs
    if (best?.value === undefined) return
    const changed = Object.entries(best.trial).map(([key, value]) => `${key}=${value}`)
    say(`\nBest: oarfish train -m ${path} -o ${[...overrides, ...changed].join(' ')}`)
  })
}

const trialText = ({ trial }: RunResult) =>
  Object.entries(trial)
    .map(([key, value]) => `${key.split('.').at(-1)} ${value}`)
    .join('  ')
const valueText = ({ value, metric, error }: RunResult) =>
  value === undefined ? `failed: ${error}` : `${metric} ${value.toFixed(6)}`

/** The best first. */
function tableOf(runs: readonly RunResult[]): readonly string[] {
  const keys = Object.keys(runs[0]?.trial ?? {})
  const head = ['run', ...keys, 'epochs', runs.find(({ metric }) => metric)?.metric ?? 'value']
  const rows = runs.map(({ run, trial, epochs, value, error }) => [
    String(run),
    ...keys.map((key) => trial[key]!),
    String(epochs),
    value?.toFixed(6) ?? `failed: ${error}`,
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)))
  return [
    '',
    ...[head, ...rows].map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    ),
  ]
}
