/** @file `fleetrun --hosts`: servers and workers, or the ranks of a collective job, on hosts that are reached by ssh. */
import type { Env } from '../../base/env/index.ts'
import { UserError } from '../../base/util/index.ts'
import { collectiveEnv, fleetrunEnv, GO_ON, resumes } from '../launch/index.ts'
import { refuseFullDisks } from './dispatch.ts'
import type { SshHost } from './host.ts'
import { everyHost } from './open-hosts.ts'
import type { RemoteHost } from './remote-host.ts'
import type { JobProcess } from './run-job.ts'
import { type HostsJobOptions, runOnHosts, type Workspace } from './run-on-hosts.ts'

export interface FleetJobOptions extends HostsJobOptions {
  readonly hosts: readonly SshHost[]
  /** On each host; without servers the workers are ranks that are all alike. */
  readonly servers: number
  readonly workers: number
  readonly command: readonly string[]
  /** The interface whose address is used; undefined: the address by which ssh reaches the host. */
  readonly nic: string | undefined
  /** On the hosts; undefined: `oarfish` in the home folder of the first. */
  readonly root: string | undefined
  /** Given to every process. */
  readonly variables: Readonly<Record<string, string>>
}

/** Training that saves itself inside epochs, and goes on from there when it is started again under its name. */
const MAKES_CUTS = /\boarfish (train|tool (static_|static_ps_)?trainer)\b/

const goOnBy = ({ kind }: Workspace, folder: string) =>
  kind === 'there'
    ? GO_ON
    : `${GO_ON} What was saved lies below ${folder}: name it, -o runner.model_save_path=${folder}/... as in the configuration.`

export async function runFleetJob(options: FleetJobOptions): Promise<number | undefined> {
  const rootOf = ([first]: readonly RemoteHost[]) => options.root ?? `${first!.hello.home}/oarfish`
  return await runOnHosts(
    options.hosts,
    {
      root: rootOf,
      hasNodefile: false,
      output: '',
      libraryPath: '',
      goingOn: {
        byItself: MAKES_CUTS.test(options.command.join(' ')),
        from: 'cut',
        resumes: resumes(options.command),
        typed: (folder) => goOnBy(options.files, folder),
      },
      check: async (hosts, manifest) => {
        const request = { root: manifest ? rootOf(hosts) : '', make: true, nic: options.nic ?? '', ports: [] }
        const found = await everyHost(hosts.map(async (host) => await host.ask('look', request)))
        const rooms = found.map(({ freeBytes }, i) => ({ name: hosts[i]!.host.name, freeBytes }))
        if (manifest) refuseFullDisks(rooms, manifest.bytes, request.root)
        return hosts.map((host, i) => addressOf(host, found[i]!.nicAddress, options.nic))
      },
      processes: async (hosts, addresses) => {
        const count = options.servers + options.workers
        const ports = await everyHost(hosts.map(async (host) => await host.ask('ports', { count })))
        const endpoints = ports.map((some, i) => some.map((port) => `${addresses[i]}:${port}`))
        return options.servers > 0 ? withServers(hosts, endpoints, options) : ranks(hosts, endpoints, options)
      },
    },
    options,
  )
}

function addressOf({ host, hello }: RemoteHost, nicAddress: string | undefined, nic: string | undefined): string {
  if (nic === undefined) return hello.address
  if (nicAddress !== undefined) return nicAddress
  throw new UserError(`${host.name}: it has no network interface ${nic} with an address.`, {
    code: 'SSH_NIC',
    hint: 'Name one that all hosts have with --nic, or leave it out.',
  })
}

type Endpoints = readonly (readonly string[])[]

function withServers(
  hosts: readonly RemoteHost[],
  endpoints: Endpoints,
  options: FleetJobOptions,
): readonly JobProcess[] {
  const { servers, command } = options
  const list = (from: number, to?: number) => endpoints.flatMap((some) => some.slice(from, to))
  const all = { servers: list(0, servers), workers: list(servers), workerNum: hosts.length * options.workers }
  const gloo = { endpoint: all.servers[0]!, folder: '' }
  const name = nameOf(options)
  const process = (host: RemoteHost, role: 'server' | 'worker', endpoint: string): JobProcess => {
    const rank = all[`${role}s`].indexOf(endpoint)
    const env = { ...textsOf(fleetrunEnv(options.variables, all, { role, rank, endpoint }, gloo)), ...name }
    return { host, role, rank, command, env, log: `log/${role}log.${rank}`, endpoints: [endpoint] }
  }
  return hosts.flatMap((host, i) =>
    endpoints[i]!.map((each, k) => process(host, k < servers ? 'server' : 'worker', each)),
  )
}

function ranks(hosts: readonly RemoteHost[], endpoints: Endpoints, options: FleetJobOptions): readonly JobProcess[] {
  const nodes = endpoints.map((some) => ({
    host: some[0]!.replace(/:\d+$/, ''),
    endpoints: some,
    devices: some.map(() => []),
  }))
  const job = { nodes, master: endpoints[0]![0]!, logDir: 'log', glooFolder: '', podName: 'ssh' }
  const name = nameOf(options)
  return hosts.flatMap((host, node) =>
    endpoints[node]!.map((endpoint, local): JobProcess => {
      const rank = endpoints.slice(0, node).reduce((sum, some) => sum + some.length, 0) + local
      const env = { ...textsOf(collectiveEnv(options.variables, job, node, local)), ...name }
      const log = `log/workerlog.${rank}`
      return { host, role: 'worker', rank, command: options.command, env, log, endpoints: [endpoint] }
    }),
  )
}

const nameOf = ({ now }: FleetJobOptions) => ({ OARFISH_JOB_ID: `ssh-${now.getTime().toString(36)}` })

const textsOf = (env: Env): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
