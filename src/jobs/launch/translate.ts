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

/** A shell line (`start_cmd`, `ENTRY`): what begins it is translated, what comes before (`cd DIR &&`, `VAR=value`) and after stays. */
export function translateLine(line: string, exists: Exists): string {
  const { before, folders, module, program } = PYTHON_LINE.exec(line)?.groups ?? {}
  if (before === undefined) return line
  const folder = folderAfter(folders ?? '')
  const words = module
    ? translateModule(module)
    : translateProgram(program!, (path) => exists(folder === undefined ? path : join(folder, path)))
  return words ? line.replace(PYTHON_LINE, () => `${before}${words.join(' ')}`) : line
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
const PYTHON_LINE = new RegExp(
  String.raw`^(?<before>\s*(?<folders>(?:cd\s+${WORD}\s*&&\s*)*)(?:[A-Za-z_]\w*=(?:${WORD})?\s+)*)` +
    String.raw`(?:[^\s"'&;|<>=]*/)?python[\d.]*(?:\s+-u)?\s+(?:-m\s+(?<module>[\w.]+)|(?<program>[^\s"'&;|<>]+\.py))(?=\s|$)`,
)

/** The folder in which a line goes on after its leading `cd`s. */
function folderAfter(folders: string): string | undefined {
  const targets = [...folders.matchAll(new RegExp(`cd\\s+(${WORD})`, 'g'))].map(([, word]) =>
    word!.replaceAll(/["']/g, ''),
  )
  return targets.length === 0
    ? undefined
    : targets.reduce((folder, target) => (target.startsWith('/') ? target : join(folder, target)), '')
}
