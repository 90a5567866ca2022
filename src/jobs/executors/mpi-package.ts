/** @file This package on the nodes of mpirun: a node that lacks it says so before anything runs, and gets it over ssh, once. */
import { lookup } from 'node:dns/promises'
import { hostname } from 'node:os'
import { UserError } from '../../base/util/index.ts'
import { openHosts, type SshHost, sshWords } from '../ssh/index.ts'
import type { ApplyContext } from './executor.ts'
import { hostsIn } from './hostfile.ts'

/** The name of the log that such lines are for. */
const LACKING = 'lacking.0'

/**
 * The words of a rank, behind a look for this very version of the package: on the PATH, else where ssh hosts have theirs. Processes of the
 * job find the same one. Until all ranks have opened MPI none does anything, so those that were started in vain leave nothing behind.
 */
export const rankWords = (command: readonly string[], version: string): readonly string[] => [
  ...['sh', '-c', FIND, version],
  ...command.slice(1),
]

const FIND = [
  'for found in "$(command -v oarfish)" "$HOME/.oarfish/bin/oarfish"',
  'do [ "$("$found" --version 2>/dev/null)" = "$0" ] && PATH="$(dirname "$found"):$PATH" exec "$found" "$@"',
  'done',
  `echo "@${LACKING} $(hostname) $(hostname -I 2>/dev/null)"; exit 127`,
].join('; ')

/** Names and addresses by which a node is known, its own name first. */
export type NodeNames = readonly string[]

/** The node that a line of mpirun's output says lacks it. */
export const lackingNode = (line: string): NodeNames | undefined =>
  line.startsWith(`@${LACKING} `) ? line.trim().split(/\s+/).slice(1) : undefined

const CONNECT_SECONDS = 10

/** Ships the package to the hosts of the hostfile that lack it; throws with the names of nodes where there is no way to them. */
export async function provideNodes(nodes: readonly NodeNames[], hostfile: string | undefined, context: ApplyContext) {
  const names = [...new Set(nodes.map(([name]) => name!))].sort().join(', ')
  if (hostfile === undefined || names === hostname()) throw noPackage(names, context.version)
  const { env, version, emit } = context
  emit({ kind: 'notice', message: `There is no oarfish ${version} on ${names}: it is sent there, once` })
  // As mpirun reaches them.
  const agent = env['OMPI_MCA_plm_rsh_agent'] ?? env['HYDRA_LAUNCHER_EXEC']
  const ssh = sshWords({ OARFISH_SSH: env['OARFISH_SSH'] ?? (agent && /^\S*ssh\b/.test(agent) ? agent : undefined) })
  const options = { ssh, env, version, emit, connectSeconds: CONNECT_SECONDS, install: true }
  const all = hostsIn(hostfile)
  const isLacking = await Promise.all(all.map(async (host) => await isAmong(nodes.flat(), host)))
  const wanted = all.filter((_host, i) => isLacking[i])
  const hosts = await openHosts(wanted.length > 0 ? wanted : all, options)
  await hosts.close()
}

/** By the name that the hostfile has, or by the address behind it. */
async function isAmong(names: NodeNames, { destination }: SshHost): Promise<boolean> {
  const name = destination.replace(/^.*@/, '')
  if (names.includes(name)) return true
  const { address } = await lookup(name).catch(() => ({ address: name }))
  return names.includes(address)
}

const noPackage = (names: string, version: string) =>
  new UserError(`There is no oarfish ${version} on the PATH of ${names}.`, {
    code: 'SUBMIT_NODES',
    hint: `Install it there: npm install --global --ignore-scripts oarfish@${version}\nNodes of a hostfile, which ssh reaches, get it by themselves.`,
  })
