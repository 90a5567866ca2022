/** @file `oarfish agent`: one node of a submitted job; started by what submits jobs, not by hand. */
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { Command } from 'commander'
import { formatUserError, isUserError } from '../base/util/index.ts'
import type { PodContext } from '../jobs/kube/index.ts'
import { plainSink } from './cloud.ts'
import { exitWith, stopSignal } from './interrupt.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'
import { packageVersion } from './user-places.ts'

export function agentCommand(io: CliIo): Command {
  const command = new Command('agent').description('One node of a submitted job; submitting starts it.')
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
  const { runRemoteNode, taggedFailure } = await import('../jobs/agent/index.ts')
  const print = (line: string) => void io.out.write(line)
  const code = await runRemoteNode({
    print,
    env: io.env,
    emit: plainSink(io, taggedFailure),
    signal: stopSignal(io),
    input: createInterface({ input: Readable.from(io.input()) }),
    folder: io.env['OARFISH_WORK'] ?? tmpdir(),
  }).catch((error: unknown) => {
    if (!isUserError(error)) throw error
    print(taggedFailure(formatUserError(error)))
    return 1
  })
  // Its input is still open: the driver at the other end waits for this end.
  io.exit(code ?? STOP_SIGNALS.SIGTERM)
}

async function kubernetes(io: CliIo): Promise<void> {
  const { runAgent } = await import('../jobs/kube/index.ts')
  const say = (line: string) => void io.err.write(`${line}\n`)
  await inPod(io, async (pod) => await runAgent({ ...pod, say, print: (text) => void io.out.write(text) }))
}

/** Runs the program of a pod; why it failed is left where Kubernetes looks for it. */
export async function inPod(io: CliIo, work: (pod: PodContext) => Promise<number | undefined>): Promise<void> {
  const { connectKube, writeTermination } = await import('../jobs/kube/index.ts')
  const { env } = io
  const signal = stopSignal(io)
  try {
    exitWith(await work({ env, signal, connect: (namespace) => connectKube({ env, namespace }) }))
  } catch (error) {
    if (signal.aborted) exitWith(undefined)
    if (isUserError(error)) writeTermination(formatUserError(error))
    throw error
  }
}

/** `oarfish cluster-host`: started on a host over ssh by a launcher, not by people. */
export function clusterHostCommand(io: CliIo): Command {
  return new Command('cluster-host').description('Answers a launcher over standard input.').action(async () => {
    const { serveHost } = await import('../jobs/ssh/index.ts')
    const print = (line: string) => void io.out.write(line)
    const input = Readable.from(io.input())
    await serveHost({ input, print, env: io.env, version: packageVersion() })
    // What it started goes on, and would keep this process.
    io.exit(0)
  })
}
