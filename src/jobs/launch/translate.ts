/** @file The Python commands of existing documents and job files as commands of this package: one table, no effects. */
import { basename, extname, join } from 'node:path'

/** PaddleRec's programs under tools/, which are part of this package: their file need not exist. */
export const TOOLS = [
  'trainer',
  'static_trainer',
  'infer',
  'static_infer',
  'static_ps_trainer',
  'static_ps_infer',
  'static_ps_offline_infer',
  'static_ps_online_trainer',
  'static_gpubox_trainer',
] as const
export type Tool = (typeof TOOLS)[number]

/** `python -m NAME` as a command of `oarfish`. */
const MODULES: Readonly<Record<string, string>> = {
  'paddlerec.run': 'run',
  'paddle.distributed.launch': 'launch',
  'paddle.distributed.fleet.launch': 'launch',
  'paddle.distributed.launch_ps': 'launch_ps',
}

/** Programs that `oarfish exec` runs. */
const SCRIPTS = ['.ts', '.mts', '.js', '.mjs']

/** Whether a path exists, seen from the folder in which the command will run. */
export type Exists = (path: string) => boolean

/** A launcher's script and its arguments as the words of a command: Python through the table, others as they are. */
export function translateScript(script: string, args: readonly string[], exists: Exists): readonly string[] {
  if (SCRIPTS.includes(extname(script))) return ['oarfish', 'exec', script, ...args]
  if (extname(script) !== '.py') return [script, ...args]
  return [...(translateProgram(script, exists) ?? ['python', '-u', script]), ...args]
}

/** A shell line (`start_cmd`, `ENTRY`): every command of it that is one of these is translated, all else stays as it is. */
export function translateLine(line: string, exists: Exists): string {
  let folder: string | undefined
  return line
    .split(BETWEEN_COMMANDS)
    .map((part) => {
      const target = CHANGE_FOLDER.exec(part)?.[1]?.replaceAll(/["']/g, '')
      if (target !== undefined) folder = target.startsWith('/') ? target : join(folder ?? '', target)
      return translateCommand(part, (path) => exists(folder === undefined ? path : join(folder, path)))
    })
    .join('')
}

/** A command of PaddleRec's that a translated line still has, in a place where nothing is translated: quotes, mostly. */
export const leftInLine = (line: string) => LEFT.exec(line)?.[0]

function translateCommand(part: string, exists: Exists): string {
  const { before, module, program } = PYTHON_COMMAND.exec(part)?.groups ?? {}
  if (before === undefined) return part
  const words = module ? translateModule(module) : translateProgram(program!, exists)
  return words ? part.replace(PYTHON_COMMAND, () => `${before}${words.join(' ')}`) : part
}

function translateModule(module: string): readonly string[] | undefined {
  const command = MODULES[module]
  return command === undefined ? undefined : ['oarfish', command]
}

/** A user's own program wins over a tool of that name. */
function translateProgram(program: string, exists: Exists): readonly string[] | undefined {
  const name = basename(program, '.py')
  const typescript = program.replace(/\.py$/, '.ts')
  if (!exists(program) && exists(typescript)) return ['oarfish', 'exec', typescript]
  return (TOOLS as readonly string[]).includes(name) ? ['oarfish', 'tool', name] : undefined
}

const WORD = String.raw`(?:"[^"]*"|'[^']*'|[^\s"'&;|<>])+`
/** Where a command of a line ends and the next begins; what is quoted, a redirection or a variable holds none. */
const BETWEEN_COMMANDS = /((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[<>]&|&>|\$\{[^}]*\}|[^"'\\;&|()\n<>$]|[<>$])+)/
const CHANGE_FOLDER = new RegExp(String.raw`^\s*cd\s+(${WORD})\s*$`)
/** Words of the shell that a command may follow. */
const LEADING = String.raw`(?:exec|nohup|time|env|if|then|elif|else|while|until|do|!|\{)`
const PYTHON_COMMAND = new RegExp(
  String.raw`^(?<before>\s*(?:(?:${LEADING}|[A-Za-z_]\w*=(?:${WORD})?)\s+)*)` +
    String.raw`(?:[^\s"'&;|<>=]*/)?python[\d.]*(?:\s+-u)?\s+(?:-m\s+(?<module>[\w.]+)|(?<program>[^\s"'&;|<>]+\.py))(?=\s|$)`,
)
const LEFT = new RegExp(
  String.raw`python[\d.]*\s+(?:-u\s+)?-m\s+(?:${Object.keys(MODULES).join('|').replaceAll('.', '\\.')})\b`,
)
