/** @file `oarfish model`: `summary` is what a model is made of, before it is trained. */
import { Command } from 'commander'
import { sizeText } from '../base/util/index.ts'
import type { ModelSummary } from '../model/index.ts'
import type { CliIo } from './io.ts'
import { modelLogCommand, modelVerifyCommand } from './model-versions.ts'
import { addConfigOptions, type ConfigOptions } from './options.ts'

export function modelCommand(io: CliIo): Command {
  const summary = new Command('summary').description(
    'Print layers, shapes, parameters, bytes of tables, and FLOP a sample.',
  )
  addConfigOptions(summary)
    .option('--json', 'print one JSON line')
    .action((options: ConfigOptions & { readonly json?: boolean }) => printSummary(options, io))
  return new Command('model')
    .description('Look at a model, or at what online training has published of it.')
    .addCommand(summary)
    .addCommand(modelLogCommand(io))
    .addCommand(modelVerifyCommand(io))
}

async function printSummary(
  { config_yaml, opt = [], json }: ConfigOptions & { readonly json?: boolean },
  io: CliIo,
): Promise<void> {
  const { loadConfig } = await import('../base/config/index.ts')
  const { loadModel, summarize } = await import('../model/index.ts')
  const summary = summarize(await loadModel(loadConfig({ path: config_yaml, overrides: opt })))
  io.out.write(json ? `${JSON.stringify({ kind: 'summary', ...summary })}\n` : text(summary))
}

function text({ inputs, tables, layers, parameters, denseBytes, flop }: ModelSummary): string {
  const sparse = inputs.filter(({ kind }) => kind === 'sparse').map(({ name }) => name)
  const dense = inputs.filter(({ kind }) => kind === 'dense').map(({ name, width }) => `${name} [${width}]`)
  const shape = (dims: readonly (number | string)[]) => `[${dims.join(', ')}]`
  const layerRows = layers.map(({ name, parameters: own, output, values }) => [
    name,
    own.map(({ name: part, shape: dims }) => `${part} ${shape(dims)}`).join(', '),
    output ? shape(output) : '',
    count(values),
  ])
  const tableRows = tables.map(({ name, slots, dim, bytesPerRow }) => [
    name,
    `${slots.length} ${slots.length === 1 ? 'slot' : 'slots'}`,
    String(dim),
    `${bytesPerRow} bytes`,
    sizeText(1e6 * bytesPerRow),
  ])
  return [
    `inputs: ${[...dense, ...(sparse.length > 0 ? [`sparse ${shortened(sparse)}`] : [])].join('; ')}`,
    '',
    ...columns([['table', 'looks up', 'dim', 'a row', 'a million rows'], ...tableRows]),
    '',
    ...columns([['layer', 'parameters', 'output', 'values'], ...layerRows]),
    '',
    `${count(parameters)} dense parameters, ${sizeText(denseBytes)} with optimizer state. Tables grow with the signs that are seen.`,
    `FLOP a sample: ${count(flop.infer)} to score, ${count(flop.train)} to train.`,
    '',
  ].join('\n')
}

const count = (value: number) => value.toLocaleString('en-US')

/** `1 2 3 ... 26` */
const shortened = (names: readonly string[]) =>
  names.length > 8 ? `${names.slice(0, 3).join(' ')} ... ${names.at(-1)} (${names.length})` : names.join(' ')

function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
