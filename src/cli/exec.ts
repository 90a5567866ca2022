/** @file `oarfish exec`: runs a user's TypeScript program, in which `oarfish` means this package. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { importUserModule, isUserError, UserError } from '../base/util/index.ts'
import { ExitCode, underLauncher } from './interrupt.ts'
import type { CliIo } from './io.ts'

export function execCommand(io: CliIo): Command {
  return new Command('exec')
    .description('Run a TypeScript program that imports from oarfish.')
    .argument('<program>', 'a .ts or .js file; for a .py that does not exist, the .ts beside it')
    .argument('[args...]', 'its arguments, in process.argv from index 2')
    .passThroughOptions()
    .action((program: string, args: readonly string[]) => execProgram(program, args, io))
}

async function execProgram(program: string, args: readonly string[], io: CliIo): Promise<void> {
  const file = resolve(existing(program))
  process.argv = [process.execPath, file, ...args]
  await underLauncher(io)
  try {
    await importUserModule(file)
  } catch (error) {
    if (isUserError(error)) throw error
    // The program's own failure, in its own words: not a bug of this package.
    io.err.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    throw new ExitCode(1)
  }
  // What the program left running (a server, a timer) is part of it; so is the exit code that it set.
  await new Promise((done) => process.once('beforeExit', done))
  const code = Number(process.exitCode ?? 0)
  if (code !== 0) throw new ExitCode(code)
}

function existing(program: string): string {
  const typescript = program.replace(/\.py$/, '.ts')
  const found = [program, typescript].find((path) => existsSync(path))
  if (found === undefined || found.endsWith('.py'))
    throw new UserError(
      found
        ? `${program} is a Python program; oarfish exec runs TypeScript and JavaScript.`
        : `There is no ${program}.`,
      {
        code: 'EXEC_PROGRAM',
        hint: found ? `Write ${typescript} beside it, or run it with python.` : 'The path is relative to this folder.',
      },
    )
  return found
}
