/** @file `oarfish trainer` and `oarfish pserver`: PaddlePaddle's first trainer and its server, with their options. */
import { join } from 'node:path'
import { Command } from 'commander'
import type { EventSink } from '../base/event/index.ts'
import { formatWhere, isUserError } from '../base/util/index.ts'
import type { TrainerOption, TrainerProgram, TypedTrainerOptions } from '../paddle/paddle-v1/index.ts'
import { STOPPING, underLauncher, untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'

export function trainerCommand(io: CliIo): Command {
  return command('trainer', 'Train as a trainer_config.ts says, alone or with the servers of --pservers.', io)
}

export function pserverCommand(io: CliIo): Command {
  return command('pserver', 'Serve the weights of a job to its trainers, which say what they train.', io)
}

function command(program: TrainerProgram, description: string, io: CliIo): Command {
  return new Command(program)
    .description(description)
    .usage('--name=value ...')
    .argument('[options...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action((words: readonly string[]) => (isHelp(words) ? printHelp(program, io) : run(program, words, io)))
}

const isHelp = (words: readonly string[]) => words.includes('--help') || words.includes('-h')

async function printHelp(program: TrainerProgram, io: CliIo): Promise<void> {
  const { TRAINER_OPTIONS } = await import('../paddle/paddle-v1/index.ts')
  const options = Object.entries<TrainerOption>(TRAINER_OPTIONS).filter(([, { of }]) => of.includes(program))
  const lines = options.map(([name, { what, default: fallback, effect }]) => {
    const value = typeof fallback === 'boolean' ? Number(fallback) : fallback
    const note =
      effect === 'unused' ? ' (no effect here)' : value === undefined || value === '' ? '' : ` (default: ${value})`
    return `  --${name.padEnd(32)}${what}${note}`
  })
  io.out.write(`Usage: oarfish ${program} --name=value ...\n\nOptions\n${lines.join('\n')}\n`)
}

async function run(program: TrainerProgram, words: readonly string[], io: CliIo): Promise<void> {
  const { badOptions, fillTrainerOptions, parseTrainerOptions, trainerRecord } = await import(
    '../paddle/paddle-v1/index.ts'
  )
  const { recordRun } = await import('../base/runs/index.ts')
  const { typed, problems } = parseTrainerOptions(words, program)
  if (problems.length > 0) throw badOptions(program, problems)
  await underLauncher(io)
  const { log_dir, dot_period } = fillTrainerOptions(typed)
  const log = await openLog(program, log_dir, io)
  const hooks = { onStopping: () => log.emit({ kind: 'notice', message: STOPPING }), onLeaving: log.close }
  try {
    const record = program === 'trainer' ? trainerRecord(typed, io.env) : undefined
    await untilInterrupted(io, hooks, (signal) => {
      const onStep = log.dots(dot_period)
      const start = (emit: EventSink) => work(program, typed, { emit, env: io.env, signal, onStep })
      return record ? recordRun({ ...record, emit: log.emit }, start) : start(log.emit)
    })
  } catch (error) {
    log.failed(error)
    throw error
  } finally {
    log.close()
  }
}

async function work(
  program: TrainerProgram,
  typed: TypedTrainerOptions,
  common: {
    readonly emit: EventSink
    readonly env: CliIo['env']
    readonly signal: AbortSignal
    readonly onStep: (() => void) | undefined
  },
): Promise<void> {
  const { runPserver, runTrainer } = await import('../paddle/paddle-v1/index.ts')
  await (program === 'trainer' ? runTrainer : runPserver)({ typed, ...common })
}

const LOGS: Readonly<Record<TrainerProgram, string>> = {
  trainer: 'paddle_trainer.INFO',
  pserver: 'paddle_pserver2.INFO',
}

/** Lines go to standard output and, without the dots between them, to the log. */
async function openLog(program: TrainerProgram, folder: string, io: CliIo) {
  const { paddleTrainerSink } = await import('../base/event/index.ts')
  const { openLogFile } = await import('../paddle/paddle-v1/index.ts')
  const path = join(folder, LOGS[program])
  const onFailure = (error: Error) => io.err.write(`${path} cannot be written: ${error.message}\n`)
  const file = openLogFile(path, { onFailure })
  let dotted = false
  const sink = paddleTrainerSink(
    (text) => {
      io.out.write(dotted ? `\n${text}` : text)
      dotted = false
      file.write(text)
    },
    { program, pid: process.pid },
  )
  /** Called at each step of a trainer. */
  const dots = (period: number): (() => void) | undefined => {
    let steps = 0
    if (program !== 'trainer' || period === 0) return undefined
    return () => {
      if (++steps % period > 0) return
      dotted = true
      io.out.write('.')
    }
  }
  const failed = (error: unknown) => {
    if (!isUserError(error)) return
    const { code, message, where, hint } = error
    // What is thrown is printed by whoever started the command; the log has it too.
    const logSink = paddleTrainerSink((line) => file.write(line), { program, pid: process.pid })
    logSink({ kind: 'error', code, message, where: where && formatWhere(where), hint })
  }
  return { emit: sink, dots, failed, close: file.close }
}
