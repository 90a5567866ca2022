/** @file runner.pipe_command as the shell runs it: the two arguments behind it, the folder, the way to Python's stand-ins. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { packageFile, shellWord } from '../../base/util/index.ts'
import type { PipeOptions } from './pipe.ts'

export interface PipeCommandOptions {
  /** As written in the configuration. */
  readonly command: string
  /** The yaml, absolute: given to the command. Without one, the command is run as it is written. */
  readonly yaml?: string | undefined
  /** The folder that readers are named from. */
  readonly dir: string
  /** The working folder: PaddleRec's configs name readers from its root too. */
  readonly cwd: string
}

/** Tools that read their last arguments as files: they are given none. */
const TEXT_TOOLS = /^(cat|zcat|sed|awk|gawk|mawk|grep|egrep|cut|tr|head|tail|sort|uniq|shuf|tac|jq|tee)$/

/** Stand-ins for paddle and PaddleRec's tools. */
const PYTHON = packageFile('python')
const OARFISH = packageFile('bin/oarfish.js')

/** PaddleRec runs `{pipe_command} {yaml_path} {folder of common_ps}`. */
export function pipeCommand({ command, yaml, dir, cwd }: PipeCommandOptions): PipeOptions {
  const trimmed = command.trim()
  const last = trimmed.split(/[|;&]/).at(-1)!.trim().split(/\s+/)[0]!
  const given = TEXT_TOOLS.test(last) || yaml === undefined ? '' : ` ${shellWord(yaml)} ${shellWord(PYTHON)}`
  return {
    command: trimmed + given,
    dir: folderOf(trimmed, dir, cwd),
    pythonPath: PYTHON,
    // `oarfish reader my_reader.ts` means this installation, whether or not it is on the PATH.
    setup: `oarfish() { ${shellWord(process.execPath)} ${shellWord(OARFISH)} "$@"; }`,
  }
}

/**
 * Beside the yaml, where reader names belong, unless the command names a file that is there only from the working folder or from one
 * above the yaml: the root of a checkout of PaddleRec.
 */
function folderOf(command: string, dir: string, cwd: string): string {
  const files = command.split(/\s+/).filter((word) => /\.\w+$/.test(word))
  const has = (folder: string) => files.some((file) => existsSync(resolve(folder, file)))
  return [dir, cwd, ...above(dir)].find(has) ?? dir
}

function above(folder: string): string[] {
  const parent = dirname(folder)
  return parent === folder ? [] : [parent, ...above(parent)]
}
