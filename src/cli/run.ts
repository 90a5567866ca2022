/** @file `oarfish run`: PaddleRec 1.x's `python -m paddlerec.run`. */
import { Command } from 'commander'
import { paddleV1Sink } from '../event/index.ts'
import { ExitCode } from './exit.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { oneOf } from './options.ts'
import { openOutput } from './output.ts'
import { underLauncher } from './under-launcher.ts'

interface RunCliOptions {
  readonly model: string
  readonly backend?: string
  readonly json?: boolean
  readonly engine: string
}

export function runCommand(io: CliIo): Command {
  return new Command('run')
    .description('Run the runners that `mode` of a PaddleRec 1.x config selects, in order.')
    .requiredOption(
      '-m, --model <file>',
      'the config.yaml, or paddlerec.models.rank.dnn for one that ships with oarfish',
    )
    .option('-b, --backend <file>', 'the backend.yaml of a cluster; read and checked, submitting is not in this build')
    .option('--json', 'print events as JSON lines')
    .option(
      '--engine <name>',
      'what computes: ort, reference (slow and exact) or null (nothing: times the input)',
      'ort',
    )
    .action((options: RunCliOptions) => runRun(options, io))
}

async function runRun({ model, backend, json = false, engine }: RunCliOptions, io: CliIo) {
  const { loadBackend, loadRunConfig } = await import('../config/index.ts')
  const { runModes } = await import('../run/index.ts')
  const { ENGINES } = await import('../train/index.ts')
  const { env } = io
  if (env['CLUSTER_INSTANCE'] === '1') await underLauncher(io)
  const config = loadRunConfig({ path: model })
  const submit = backend === undefined ? undefined : loadBackend(backend)
  const engineName = oneOf('--engine', ENGINES, engine)
  const output = json || io.out.isTTY ? openOutput(io, { json }) : { emit: linesOf(io), close: () => undefined }
  for (const message of submit?.warnings ?? []) output.emit({ kind: 'warning', message })
  if (submit) {
    const message = `${backend}: ${submit.backend.backend} with ${submit.backend.cluster_type}; only cluster_train uses it`
    output.emit({ kind: 'notice', message })
  }
  const message = 'Stopping after the step under way; Ctrl+C again leaves at once.'
  const hooks = { onStopping: () => output.emit({ kind: 'notice', message }), onLeaving: output.close }
  try {
    await untilInterrupted(io, hooks, async (signal) => {
      const options = { config, emit: output.emit, signal, engine: engineName, env, backend: submit !== undefined }
      const { exitCode } = await runModes(options)
      if (exitCode) throw new ExitCode(exitCode)
    })
  } finally {
    output.close()
  }
}

const linesOf = ({ out, err }: CliIo) =>
  paddleV1Sink({ out: (text) => void out.write(text), err: (text) => void err.write(text) })
