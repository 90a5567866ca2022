/** @file `oarfish importance`: the AUC that a trained model loses without each slot. */
import { Command, InvalidArgumentError } from 'commander'
import type { Importance } from '../training/driver/index.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { addConfigOptions, type ConfigOptions, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'

interface ImportanceCliOptions extends ConfigOptions {
  readonly epoch?: number
  readonly samples: number
  readonly rounds: number
  readonly json?: boolean
}

export function importanceCommand(io: CliIo): Command {
  const command = new Command('importance').description(
    'Shuffle each slot among the samples of runner.test_data_dir and print the AUC that a saved epoch loses by it; the page of the run shows it too.',
  )
  return addConfigOptions(command)
    .option('--epoch <n>', 'which saved epoch (default: the newest)', wholeNumber)
    .option('--samples <n>', 'how many samples of the test data', atLeast(100), 20_000)
    .option('--rounds <n>', 'shuffles of each slot', atLeast(1), 3)
    .option('--json', 'print JSON')
    .action((options: ImportanceCliOptions) => runImportance(options, io))
}

const atLeast = (least: number) => (typed: string) => {
  const value = wholeNumber(typed)
  if (value < least) throw new InvalidArgumentError(`Expected ${least} or more.`)
  return value
}

async function runImportance(options: ImportanceCliOptions, io: CliIo): Promise<void> {
  const { config_yaml, opt = [], epoch, samples, rounds, json = false } = options
  const { checkDataDirs, loadConfig } = await import('../base/config/index.ts')
  const { importance } = await import('../training/driver/index.ts')
  const config = loadConfig({ path: config_yaml, overrides: opt })
  checkDataDirs(config, ['test_data_dir'])
  const output = openOutput(io, { json: false })
  const onSlot = ({ slot }: { slot: string }, done: number, of: number) =>
    void io.err.write(json ? '' : `  ${done} / ${of} ${slot}\n`)
  let found: Importance | undefined
  await untilInterrupted(io, { onStopping: () => undefined, onLeaving: () => undefined }, async (signal) => {
    found = await importance({ config, epoch, samples, rounds, emit: output.emit, signal, onSlot })
  }).finally(output.close)
  if (!found) return
  const { noteImportance } = await import('../base/runs/index.ts')
  const run = noteImportance(config.config, io.env, found)
  if (json) return void io.out.write(`${JSON.stringify(found)}\n`)
  io.out.write(textOf(found))
  if (run !== undefined) io.out.write(`Shown with run ${run} by: oarfish dashboard\n`)
}

const BAR = 24

function textOf({ auc, metric, epoch, samples, slots }: Importance): string {
  const most = Math.max(1e-9, ...slots.map(({ lost }) => lost))
  const width = Math.max(4, ...slots.map(({ slot }) => slot.length))
  const lines = slots.map(({ slot, lost, spread }) => {
    const bar = '#'.repeat(Math.max(0, Math.round((BAR * lost) / most)))
    return `${slot.padEnd(width)}  ${lost.toFixed(5).padStart(9)}  ± ${spread.toFixed(5)}  ${bar}`
  })
  const head = `${metric} ${auc.toFixed(5)} of epoch ${epoch} on ${samples} samples; lost without each slot, and the spread of the rounds:`
  return `${[head, ...lines].join('\n')}\n`
}
