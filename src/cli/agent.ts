/** @file `oarfish agent`: what runs where a submitted job has a place; started by what submits jobs, not by hand. */
import { Command } from 'commander'
import { formatUserError, isUserError } from '../util/index.ts'
import { ExitCode } from './exit.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'

export function agentCommand(io: CliIo): Command {
  const command = new Command('agent').description('One place of a submitted job; submitting starts it.')
  command
    .command('kubernetes')
    .description('The pod that this runs in.')
    .action(() => kubernetes(io))
  return command
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
