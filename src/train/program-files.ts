/** @file The programs of a worker as text in the working folder, under the names that static_ps_trainer gives them. */
import { writeFileSync } from 'node:fs'
import type { TracedModel } from '../model/index.ts'
import { type Program, printProgram } from '../program/index.ts'

/** What is trained, and what it begins with. */
export function writeProgramFiles(
  rank: number,
  { train }: Pick<TracedModel, 'train'>,
  write: (name: string, text: string) => void = writeFile,
): void {
  write(`${rank}_worker_main_program.prototxt`, `${printProgram(train)}\n`)
  write(`${rank}_worker_startup_program.prototxt`, `${startupText(train)}\n`)
}

/** One line for each weight, state value and table. */
function startupText({ parameters, state, tables }: Program): string {
  return [
    ...parameters.map(({ name, shape, init }) => `parameter ${name}[${shape.join(', ')}] = ${JSON.stringify(init)}`),
    ...state.map(({ name, shape, init }) => `state ${name}[${shape.join(', ')}] = ${JSON.stringify(init)}`),
    ...tables.map(({ name, dim, init }) => `table ${name}, rows of ${dim} = ${JSON.stringify(init)}`),
  ].join('\n')
}

/** A working folder that cannot be written is no reason not to train. */
function writeFile(name: string, text: string): void {
  try {
    writeFileSync(name, text)
  } catch {
    // They are for looking at; nothing reads them.
  }
}
