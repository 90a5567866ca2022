/** @file `fleetrun --hosts`: the job of one command on several hosts, over ssh. */
import { resolve } from 'node:path'
import { UserError } from '../base/util/index.ts'
import type { FleetrunFlags } from './fleetrun.ts'
import type { CliIo } from './io.ts'
import { runOverSsh } from './ssh-options.ts'

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

export async function fleetrunOnHosts(
  script: readonly string[],
  typed: FleetrunFlags,
  collective: boolean,
  io: CliIo,
): Promise<void> {
  const { commandOf } = await import('../jobs/launch/index.ts')
  const { runFleetJob } = await import('../jobs/ssh/index.ts')
  const beside = OTHER_PLACES.find((name) => typed[name] !== undefined)
  if (beside) throw flagError(`--${beside} and --hosts cannot stand together.`, `Leave out --${beside}.`)
  const hosts = await hostsOf(typed.hosts!)
  const counts = countsOf(typed, collective)
  const files =
    typed.dispatch === undefined
      ? ({ kind: 'there', folder: process.cwd() } as const)
      : ({ kind: 'dispatch', folder: resolve(typed.dispatch) } as const)
  const own = { hosts, files, ...counts, variables: variablesOf(io), nic: typed.nic, root: typed.root_dir }
  await runOverSsh(typed, io, async (options) => {
    const command = commandOf({ script, oarfish: ['oarfish'], emit: options.emit })
    return await runFleetJob({ ...options, ...own, command })
  })
}

async function hostsOf(list: string) {
  const { parseHosts } = await import('../jobs/ssh/index.ts')
  const { hosts, problem } = parseHosts(list.split(',').map((entry) => entry.trim()))
  if (problem !== undefined) throw flagError(`--hosts: ${problem}`, 'Write --hosts=root@10.0.0.1,root@10.0.0.2:9090')
  return hosts
}

/** On each host, as on the one host of a launch without --hosts. */
function countsOf(typed: FleetrunFlags, collective: boolean) {
  if (collective) return { servers: 0, workers: typed.nproc_per_node ?? 1 }
  const { server_num: servers } = typed
  const workers = typed.worker_num === undefined ? typed.trainer_num : Number(typed.worker_num)
  if (Number.isNaN(workers))
    throw flagError('--hosts needs one number of workers.', 'Write --worker_num=1, of each host.')
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
