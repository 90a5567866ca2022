/** @file `oarfish runs`: runs that were recorded, listed, compared, tagged and deleted. */
import { rmSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Command } from 'commander'
import type { RunSummary } from '../base/runs/index.ts'
import { suggest, UserError } from '../base/util/index.ts'
import type { CliIo } from './io.ts'
import { compareText, listText, matches } from './runs-text.ts'

interface DirOptions {
  readonly dir: readonly string[]
}

interface ListOptions extends DirOptions {
  readonly filter?: string
  readonly metric?: string
  readonly json?: boolean
}

export function runsCommand(io: CliIo): Command {
  const command = new Command('runs').description(
    'List, compare, tag and delete recorded runs (docs/guide/dashboard.md).',
  )
  const withDir = (one: Command) =>
    one.option('--dir <folder...>', 'where to look: run folders, folders of them, or projects', ['.'])
  withDir(command.command('list', { isDefault: true }).description('The newest first.'))
    .option('--filter <text>', 'only runs whose name, model, tags, state or settings have each of these words')
    .option('--metric <name>', 'sort by this metric of the evaluation, the best first')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(options, io))
  withDir(command.command('compare').description('Settings that differ and metrics, side by side.'))
    .argument('<name...>', 'runs')
    .action((names: string[], options: DirOptions) => compare(names, options, io))
  withDir(command.command('tag').description('Add tags to a run; -word takes one away.'))
    .argument('<name>', 'run')
    .argument('<tags...>', 'words')
    .allowUnknownOption()
    .action((name: string, tags: string[], options: DirOptions) => tag(name, tags, options, io))
  withDir(command.command('rm').description('Delete run folders; what they saved elsewhere stays.'))
    .argument('<name...>', 'runs')
    .action((names: string[], options: DirOptions) => remove(names, options, io))
  return command
}

async function found({ dir }: DirOptions): Promise<RunSummary[]> {
  const { findRuns, readRun } = await import('../base/runs/index.ts')
  const runs = findRuns(dir.map((folder) => resolve(folder))).flatMap((folder) => readRun(folder) ?? [])
  return runs.sort((a, b) => b.meta.createdAt - a.meta.createdAt)
}

async function list({ filter, metric, json = false, ...where }: ListOptions, io: CliIo): Promise<void> {
  const runs = (await found(where)).filter((run) => matches(run, filter))
  if (json) return void io.out.write(`${JSON.stringify(runs, undefined, 1)}\n`)
  if (runs.length > 0) return void io.out.write(listText(runs, { metric, nowMs: Date.now() }))
  const none = filter === undefined ? `There is no run in ${where.dir.join(', ')}.` : 'No run has all of these words.'
  io.out.write(`${none}\n`)
}

async function compare(names: readonly string[], where: DirOptions, io: CliIo): Promise<void> {
  const runs = await Promise.all(names.map((name) => runNamed(name, where)))
  io.out.write(compareText(runs))
}

async function tag(name: string, words: readonly string[], where: DirOptions, io: CliIo): Promise<void> {
  const { readTags, writeTags } = await import('../base/runs/index.ts')
  const { folder } = await runNamed(name, where)
  const gone = words.flatMap((word) => (word.startsWith('-') ? [word.slice(1)] : []))
  const tags = [...readTags(folder), ...words.filter((word) => !word.startsWith('-'))]
  writeTags(
    folder,
    tags.filter((one) => !gone.includes(one)),
  )
  io.out.write(`${name}: ${readTags(folder).join(', ') || 'no tags'}\n`)
}

async function remove(names: readonly string[], where: DirOptions, io: CliIo): Promise<void> {
  const { ACTIVE_STATES } = await import('../base/runs/index.ts')
  const runs = await Promise.all(names.map((name) => runNamed(name, where)))
  const running = runs.find(({ state }) => ACTIVE_STATES.includes(state))
  if (running) throw runError(`${running.meta.name} is running.`, 'Stop it first.')
  for (const { folder } of runs) {
    rmSync(folder, { recursive: true, force: true })
    io.out.write(`deleted ${folder}\n`)
  }
}

async function runNamed(name: string, where: DirOptions): Promise<RunSummary> {
  const runs = await found(where)
  const own = runs.filter(
    ({ folder, meta }) => meta.name === name || basename(folder) === name || folder === resolve(name),
  )
  if (own.length === 1) return own[0]!
  if (own.length > 1)
    throw runError(
      `${name} is the name of ${own.length} runs.`,
      `Give the folder: ${own.map(({ folder }) => folder).join(' or ')}`,
    )
  const near = suggest(
    name,
    runs.map(({ meta }) => meta.name),
  )
  throw runError(
    `There is no run ${name} in ${where.dir.join(', ')}.`,
    near === undefined ? 'List them with: oarfish runs' : `Did you mean ${near}?`,
  )
}

const runError = (message: string, hint: string) => new UserError(message, { code: 'RUN_NAME', hint })
