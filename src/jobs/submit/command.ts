/** @file What each process of a job runs: `start_cmd` with the Python commands of PaddleRec as commands of this package, or why it cannot be. */
import { readFileSync } from 'node:fs'
import { UserError } from '../../base/util/index.ts'
import { leftInLine, translateLine } from '../launch/index.ts'

/** The folder of a job is flat. */
const isAmong = (names: readonly string[]) => (path: string) => names.includes(path.replace(/^\.\//, ''))

/** `names` are those of the job's files, which decide how a command is translated. */
export function commandOf(line: string, names: readonly string[]): string {
  const command = translateLine(line, isAmong(names))
  const left = leftInLine(command)
  if (left !== undefined) throw notTranslated(`start_cmd: ${JSON.stringify(line)}`, left)
  return command
}

/** Scripts that travel with the job are run as they are, and nodes have no PaddleRec. */
export function checkScripts(files: readonly { readonly name: string; readonly path: string }[]): void {
  for (const { name, path } of files.filter((file) => file.name.endsWith('.sh'))) {
    const lines = readFileSync(path, 'utf8').split('\n')
    const at = lines.findIndex((line) => leftInLine(line.replace(/^\s*#.*/, '')) !== undefined)
    if (at >= 0) throw notTranslated(`${name}:${at + 1}: ${lines[at]!.trim()}`, leftInLine(lines[at]!)!)
  }
}

function notTranslated(where: string, left: string): UserError {
  return new UserError(`${where}: nodes have no ${left.replace(/^.*\s/, '')}, and "${left}" is not translated there.`, {
    code: 'SUBMIT_COMMAND',
    hint: `Write "${translateLine(left, () => false)}" in its place. Only commands of start_cmd itself, outside of quotes, are translated.`,
  })
}
