/** @file `python` of a shell with shell-init: lines of PaddlePaddle's documents as commands of this package; a real paddle is left alone. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'

/** Runs a command of this package. */
type RunCommand = (argv: readonly string[]) => Promise<number>

/** Not for people: bin/shell/python calls it, with the real Python, if there is one, in OARFISH_PYTHON. */
export function pythonCommand(io: CliIo, run: RunCommand): Command {
  return new Command('python')
    .argument('<name>', 'what it was called as')
    .argument('[words...]', 'its arguments')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action((name: string, words: readonly string[]) =>
      python({ name, words, real: io.env['OARFISH_PYTHON'] || undefined }, io, run),
    )
}

interface Line {
  readonly name: string
  readonly words: readonly string[]
  /** The Python of the PATH. */
  readonly real: string | undefined
}

async function python({ name, words, real }: Line, io: CliIo, run: RunCommand): Promise<void> {
  const command = await ours(words)
  const { OARFISH_PYTHON: _own, ...env } = io.env
  if (real && (!command || hasModule(real, command.module))) return await handOver(real, words, env)
  if (!command) throw noPython(name, words)
  for (const line of command.notices) io.err.write(`${line}\n`)
  const code = await run(command.words)
  if (code !== 0) throw new ExitCode(code)
}

interface OwnCommand {
  readonly words: readonly string[]
  /** Where this is installed, the line is Python's. */
  readonly module: string
  readonly notices: readonly string[]
}

/** The line as one of this package; undefined where it is none. */
async function ours(words: readonly string[]): Promise<OwnCommand | undefined> {
  const [first, ...rest] = words[0] === '-u' ? words.slice(1) : words
  if (first === undefined) return undefined
  if (first === '-m') {
    const translated = await translate(`python -m ${rest[0] ?? ''}`)
    const module = (rest[0] ?? '').split('.')[0]!
    return translated[0] === 'oarfish'
      ? { words: [...translated.slice(1), ...rest.slice(1)], module, notices: [] }
      : undefined
  }
  return ofProgram(first, rest)
}

async function ofProgram(program: string, rest: readonly string[]): Promise<OwnCommand | undefined> {
  const command = (words: readonly string[], notices: readonly string[] = []) => ({ words, module: 'paddle', notices })
  const typescript = program.replace(/\.py$/, '.ts')
  const here = existsSync(program)
  if (basename(program) === 'paddle.py' && (!here || isLauncher(program))) {
    const conf = rest.some((word) => /^--conf(=|$)/.test(word)) ? [] : ['--conf', 'conf.py']
    return command(['cluster', ...conf, ...rest], here ? [`${program}: oarfish cluster does what this file does.`] : [])
  }
  if (here && existsSync(typescript))
    return command(['exec', typescript, ...rest], [`${program}: ${typescript} is run in its place.`])
  const translated = await translate(`python ${program}`)
  return translated[0] === 'oarfish' ? command([...translated.slice(1), ...rest]) : undefined
}

async function translate(line: string): Promise<readonly string[]> {
  const { translateLine } = await import('../jobs/launch/index.ts')
  return translateLine(line, existsSync).split(' ')
}

/** PaddlePaddle's own paddle.py, which starts clusters by fabric. */
const isLauncher = (program: string) => /job_dispatch_package/.test(readFileSync(program, 'utf8'))

/** Whether a package is installed; files of this folder are none. */
function hasModule(real: string, module: string): boolean {
  const code = `import sys, importlib.util; sys.path = [p for p in sys.path if p]; sys.exit(importlib.util.find_spec(${JSON.stringify(module)}) is None)`
  return spawnSync(real, ['-c', code], { stdio: 'ignore' }).status === 0
}

/** Python in the place of this process: its output is the shell's, its end is ours. */
async function handOver(real: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(real, words, { stdio: 'inherit', env })
  // Ctrl+C reaches both; Python decides what it means.
  const stay = () => undefined
  process.on('SIGINT', stay)
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (status, signal) => resolve(status ?? (signal === 'SIGINT' ? 130 : 143)))
    })
    if (code !== 0) throw new ExitCode(code)
  } finally {
    process.off('SIGINT', stay)
  }
}

function noPython(name: string, words: readonly string[]): UserError {
  return new UserError(`${[name, ...words].join(' ')}: there is no Python on this machine's PATH.`, {
    code: 'SHELL_PYTHON',
    hint: `What this ${name}, of oarfish shell-init, can run by itself:
python -m paddlerec.run -m config.yaml
python -m paddle.distributed.launch tools/trainer.py -m config.yaml
python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 program.py
python tools/static_ps_trainer.py -m config.yaml, and PaddleRec's other tools
python paddle.py --job_dispatch_package=FOLDER
python program.py, where program.ts stands beside it`,
  })
}
