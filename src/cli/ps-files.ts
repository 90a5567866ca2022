/** @file What static_ps_trainer leaves in the log folder: speed and AUC of each epoch, and the programs of a worker as text. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type EventSink, type PsSeen, psLines, psStart, trainResultDict } from '../base/event/index.ts'
import type { Program } from '../graph/program/index.ts'
import type { TracedModel } from '../model/index.ts'

/** Passes events on; writes train_result_dict.txt at the end. All workers of a host write the same. */
export function withResultFile(emit: EventSink): EventSink {
  let seen: PsSeen | undefined
  return (event) => {
    if (event.kind === 'start') seen = psStart(event)
    if (seen) seen = psLines(event, seen).seen
    if (event.kind === 'done' && seen) write('train_result_dict.txt', trainResultDict(seen))
    emit(event)
  }
}

/** What is trained, as `print` says it, and what it begins with. */
export function writeProgramFiles(rank: number, { train }: TracedModel, print: (program: Program) => string): void {
  write(`${rank}_worker_main_program.prototxt`, `${print(train)}\n`)
  write(`${rank}_worker_startup_program.prototxt`, `${startupText(train)}\n`)
}

/** A folder that cannot be written is no reason not to train, nor to lose a trained model. */
function write(name: string, text: string): void {
  const { OARFISH_LOG_FILE: log, PADDLE_LOG_DIR: named = 'log' } = process.env
  const folder = log ? dirname(log) : named
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, name), text)
  } catch {
    // They are for looking at; nothing reads them.
  }
}

/** One line for each weight, state value and table. */
function startupText({ parameters, state, tables }: Program): string {
  return [
    ...parameters.map(({ name, shape, init }) => `parameter ${name}[${shape.join(', ')}] = ${JSON.stringify(init)}`),
    ...state.map(({ name, shape, init }) => `state ${name}[${shape.join(', ')}] = ${JSON.stringify(init)}`),
    ...tables.map(({ name, dim, init }) => `table ${name}, rows of ${dim} = ${JSON.stringify(init)}`),
  ].join('\n')
}
