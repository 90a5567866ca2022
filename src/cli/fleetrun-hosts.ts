/** @file `fleetrun --hosts`: the job of one command on several hosts, over ssh. */
import { resolve } from 'node:path'
import { UserError } from '../util/index.ts'
import { ExitCode } from './exit.ts'
import type { FleetrunFlags } from './fleetrun.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { openScreen } from './launch.ts'
import { jobRecords, sshOptions } from './ssh-options.ts'

/** Flags that say where processes run in other ways. */
const OTHER_PLACES = [
  'ips',
  'workers',
  'servers',
  'trainers',
  'master',
  'nnodes',
  'rank',
  'host',
  'start_port',
] as const
const STOP_SECONDS = 30

export async function fleetrunOnHosts(
  script: readonly string[],
  typed: FleetrunFlags,
  collective: boolean,
  io: CliIo,
): Promise<void> {
  const { commandOf } = await import('../launch/index.ts')
  const { runFleetJob } = await import('../ssh/index.ts')
  const beside = OTHER_PLACES.find((name) => typed[name] !== undefined)
  if (beside) throw flagError(`--${beside} and --hosts cannot stand together.`, `Leave out --${beside}.`)
  const hosts = await hostsOf(typed.hosts!)
  const screen = await openScreen(io, typed.json ?? false)
  const { stop_timeout: stopSeconds = STOP_SECONDS } = typed
  const message = `Stopping the job on all hosts; in ${stopSeconds} s, or by another Ctrl+C, its processes are killed.`
  const hooks = { onStopping: () => screen.emit({ kind: 'notice', message }), onLeaving: screen.close }
  let code: number | undefined
  try {
    const command = commandOf({ script, oarfish: ['oarfish'], emit: screen.emit })
    await untilInterrupted(io, hooks, async (signal) => {
      code = await runFleetJob({
        ...(await sshOptions(io, { install: typed.install ?? false })),
        ...{ hosts, command, signal, emit: screen.emit, records: jobRecords(io), variables: variablesOf(io) },
        ...countsOf(typed, collective),
        files: typed.dispatch === undefined ? { workspace: process.cwd() } : { dispatch: resolve(typed.dispatch) },
        nic: typed.nic,
        root: typed.root_dir,
        now: new Date(),
        stopMs: stopSeconds * 1000,
      })
    })
  } finally {
    screen.close()
  }
  if (code) throw new ExitCode(code)
}

async function hostsOf(list: string) {
  const { parseHosts } = await import('../ssh/index.ts')
  const { hosts, problem } = parseHosts(list.split(',').map((entry) => entry.trim()))
  if (problem !== undefined) throw flagError(`--hosts: ${problem}`, 'Write --hosts=root@10.0.0.1,root@10.0.0.2:9090')
  return hosts
}

/** On each host, as on the one host of a launch without --hosts. */
function countsOf(typed: FleetrunFlags, collective: boolean) {
  if (collective) return { servers: 0, workers: typed.nproc_per_node ?? 1 }
  const { server_num: servers, worker_num: workers = typed.trainer_num } = typed
  if (!servers || !workers)
    throw flagError('--hosts needs --server_num and --worker_num, of each host.', 'Add --server_num=1 --worker_num=1')
  return { servers, workers }
}

/** Settings of Paddle travel with the job; the rest of the environment is that of the hosts. */
const variablesOf = ({ env }: CliIo): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => /^(FLAGS|GLOG)_/.test(entry[0]) && entry[1] !== undefined,
    ),
  )

const flagError = (message: string, hint: string) => new UserError(message, { code: 'LAUNCH_FLAG', hint })
