/** @file `oarfish run`: PaddleRec 1.x's `python -m paddlerec.run`. */
import { Command } from 'commander'
import { paddleV1Sink } from '../base/event/index.ts'
import { UserError } from '../base/util/index.ts'
import { ExitCode, underLauncher, untilDone } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { engineOption, oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { submitRun } from './submit.ts'

interface RunCliOptions {
  readonly model: string
  readonly backend?: string
  readonly json?: boolean
  readonly engine: string
  readonly dryRun?: boolean
  readonly force?: boolean
}

export function runCommand(io: CliIo): Command {
  return new Command('run')
    .description('Run the runners that `mode` of a PaddleRec 1.x config selects, in order.')
    .requiredOption(
      '-m, --model <file>',
      'the config.yaml, or paddlerec.models.rank.dnn for one that ships with oarfish',
    )
    .option('-b, --backend <file>', 'the backend.yaml of a cluster: runners of class cluster_train are submitted there')
    .option('--dry-run', 'with -b: print every file and the exact request, and touch nothing')
    .option('--force', 'with -b, backend: Kubernetes: replace a job of the same name')
    .option('--json', 'print events as JSON lines')
    .addOption(engineOption())
    .action((options: RunCliOptions, command: Command) => {
      refuseIdle(command, options.backend !== undefined)
      return runRun(options, io)
    })
}

/** Of a submission, and of a run in this process: each would be passed over by the other. */
const ONLY = { submitting: ['dryRun', 'force'], here: ['json', 'engine'] } as const

function refuseIdle(command: Command, isSubmission: boolean): void {
  const idle = ONLY[isSubmission ? 'here' : 'submitting'].filter((name) => command.getOptionValueSource(name) === 'cli')
  if (idle.length === 0) return
  const flags = idle.map((name) => command.options.find((option) => option.attributeName() === name)!.long).join(', ')
  throw new UserError(`${flags}: ${isSubmission ? 'not with -b, whose job runs elsewhere' : 'only with -b'}.`, {
    code: 'CLI_OPTION',
    hint: 'Leave it out.',
  })
}

async function runRun(options: RunCliOptions, io: CliIo) {
  const { model, backend, json = false, engine } = options
  if (backend !== undefined) {
    const { dryRun = false, force = false } = options
    return await submitRun({ model, backend, dryRun, force }, io)
  }
  const { loadRunConfig } = await import('../base/config/index.ts')
  const { runModes } = await import('../paddle/paddlerec-v1/index.ts')
  const { ENGINES } = await import('../training/threads/index.ts')
  const { env } = io
  if (env['CLUSTER_INSTANCE'] === '1') await underLauncher(io)
  const config = loadRunConfig({ path: model })
  const engineName = oneOf('--engine', ENGINES, engine)
  const output = json || io.out.isTTY ? openOutput(io, { json }) : { emit: linesOf(io), close: () => undefined }
  await untilDone(io, output, async (signal) => {
    const { exitCode } = await runModes({ config, emit: output.emit, signal, engine: engineName, env })
    if (exitCode) throw new ExitCode(exitCode)
  })
}

const linesOf = ({ out, err }: CliIo) =>
  paddleV1Sink({ out: (text) => void out.write(text), err: (text) => void err.write(text) })
