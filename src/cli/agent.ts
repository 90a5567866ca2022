/** @file `oarfish agent`: what runs where a submitted job has a place; started by what submits jobs, not by hand. */
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { Command } from 'commander'
import { formatUserError, isUserError } from '../util/index.ts'
import { plainSink } from './cloud.ts'
import { ExitCode } from './exit.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'

export function agentCommand(io: CliIo): Command {
  const command = new Command('agent').description('One place of a submitted job; submitting starts it.')
  command
    .command('kubernetes')
    .description('The pod that this runs in.')
    .action(() => kubernetes(io))
  command
    .command('ssh')
    .description('The host that this runs on, driven over standard input.')
    .action(() => overSsh(io))
  return command
}

async function overSsh(io: CliIo): Promise<void> {
  const { runRemoteNode, taggedFailure } = await import('../agent/index.ts')
  const stop = new AbortController()
  io.onSignal(() => stop.abort())
  const print = (line: string) => void io.out.write(line)
  const code = await runRemoteNode({
    ...{ print, env: io.env, emit: plainSink(io, taggedFailure), signal: stop.signal },
    input: createInterface({ input: Readable.from(io.input()) }),
    folder: io.env['OARFISH_WORK'] ?? tmpdir(),
  }).catch((error: unknown) => {
    if (!isUserError(error)) throw error
    print(taggedFailure(formatUserError(error)))
    return 1
  })
  // Its input is still open: who drives it waits for this end.
  io.exit(code ?? STOP_SIGNALS.SIGTERM)
}

async function kubernetes(io: CliIo): Promise<void> {
  const kube = await import('../kube/index.ts')
  const stop = new AbortController()
  io.onSignal(() => stop.abort())
  try {
    const code = await kube.runAgent({
      env: io.env,
      connect: (namespace) => kube.connectKube({ env: io.env, namespace }),
      say: (line) => void io.err.write(`${line}\n`),
      print: (text) => void io.out.write(text),
      signal: stop.signal,
    })
    if (code !== 0) throw new ExitCode(code ?? STOP_SIGNALS.SIGTERM)
  } catch (error) {
    if (stop.signal.aborted) throw new ExitCode(STOP_SIGNALS.SIGTERM)
    if (isUserError(error)) kube.writeTermination(formatUserError(error))
    throw error
  }
}
