/** @file A job of PaddlePaddle's cluster_train: checked, its workspace on all hosts, one server and one trainer on each. */
import { UserError } from '../../base/util/index.ts'
import type { ClusterConf } from './conf.ts'
import { type Manifest, refuseFullDisks } from './dispatch.ts'
import { together } from './errors.ts'
import { everyHost } from './open-hosts.ts'
import type { HostFacts } from './protocol.ts'
import type { RemoteHost } from './remote-host.ts'
import type { JobProcess } from './run-job.ts'
import { type HostsJobOptions, runOnHosts } from './run-on-hosts.ts'

export interface ClusterJobOptions extends HostsJobOptions {
  readonly conf: ClusterConf
  /** Passed on to trainers, `--name=value` each. */
  readonly trainerOptions: readonly string[]
  /** From the newest pass that lies in the workspace, whoever saved it. */
  readonly resumes: boolean
}

/** Resolves to the job's exit code, or undefined when it was asked to stop. */
export async function runClusterJob(options: ClusterJobOptions): Promise<number | undefined> {
  const { conf } = options
  return await runOnHosts(
    conf.hosts,
    {
      root: () => conf.rootDir,
      hasNodefile: true,
      output: 'output',
      libraryPath: conf.ldLibraryPath,
      goingOn: {
        byItself: true,
        from: 'saved pass',
        resumes: options.resumes,
        typed: (folder) =>
          `Once the cause is found, the same command with --job_workspace=${folder} --resume, in place of --job_dispatch_package, goes on from the last saved pass.`,
      },
      check: async (hosts, manifest) => await checkHosts(hosts, conf, manifest),
      processes: async (hosts, addresses) => processesOf(hosts, addresses, options),
    },
    options,
  )
}

/** The address of each by its interface. Reports everything that is wrong with any host at once. */
async function checkHosts(hosts: readonly RemoteHost[], conf: ClusterConf, manifest: Manifest | undefined) {
  const { rootDir: root, nic, port, portsNum, portsNumForSparse } = conf
  const ports = Array.from({ length: portsNum + portsNumForSparse }, (_, i) => port + i)
  const found = await everyHost(
    hosts.map(async (host) => await host.ask('look', { root: manifest ? root : '', nic, ports })),
  )
  const problems = hosts.flatMap((host, i) => problemsOf(host, found[i]!, conf))
  if (problems.length > 0) throw together(problems)
  const rooms = hosts.map(({ host }, i) => ({ name: host.name, freeBytes: found[i]!.freeBytes }))
  if (manifest) refuseFullDisks(rooms, manifest.bytes, root)
  const addresses = found.map(({ nicAddress }) => nicAddress!)
  refuseSameHost(hosts, addresses)
  return addresses
}

function problemsOf(
  { host: { name } }: RemoteHost,
  found: HostFacts,
  { nic, rootDir }: ClusterConf,
): readonly UserError[] {
  const { nicAddress, nics, unwritable, taken } = found
  const problem = (isThere: boolean, code: string, message: string, hint: string) =>
    isThere ? [new UserError(`${name}: ${message}`, { code, hint })] : []
  return [
    ...problem(
      nicAddress === undefined,
      'SSH_NIC',
      `it has no network interface ${nic} with an address; it has ${nics.join(', ')}.`,
      'Set PADDLE_NIC to one that all hosts have.',
    ),
    ...problem(
      unwritable !== undefined,
      unwritable?.includes('full') ? 'SSH_DISK' : 'SSH_ROOT_DIR',
      `ROOT_DIR ${rootDir} cannot be used: ${unwritable}.`,
      `Make it: mkdir -p ${rootDir}; it must belong to the user of HOSTS and have room.`,
    ),
    ...problem(
      taken.length > 0,
      'SSH_PORT',
      `port ${taken.join(', ')} is in use.`,
      'Another job may run there: choose another PADDLE_PORT.',
    ),
  ]
}

/** Two names of one machine would be two nodes with one port. */
function refuseSameHost(hosts: readonly RemoteHost[], addresses: readonly string[]): void {
  const twice = addresses.findIndex((address, i) => addresses.indexOf(address) !== i)
  if (twice < 0) return
  const first = hosts[addresses.indexOf(addresses[twice]!)]!
  throw new UserError(`${first.host.name} and ${hosts[twice]!.host.name} are the same machine, ${addresses[twice]}.`, {
    code: 'SSH_CONF',
    hint: 'Keep one of them in HOSTS.',
  })
}

function processesOf(
  hosts: readonly RemoteHost[],
  addresses: readonly string[],
  options: ClusterJobOptions,
): readonly JobProcess[] {
  const { conf, trainerOptions } = options
  const { port, portsNum, portsNumForSparse, nic } = conf
  const common = [
    `--num_gradient_servers=${hosts.length}`,
    `--nics=${nic}`,
    `--port=${port}`,
    `--ports_num=${portsNum}`,
    `--ports_num_for_sparse=${portsNumForSparse}`,
    '--comment=paddle_cluster_job',
  ]
  const env: JobProcess['env'] = options.resumes ? { OARFISH_RESUME: '1' } : {}
  return hosts.flatMap((host, rank): readonly JobProcess[] => {
    const own = { host, rank, env }
    const server = ['oarfish', 'pserver', ...common]
    const pservers = `--pservers=${addresses.join(',')}`
    const trainer = ['oarfish', 'trainer', ...common, pservers, ...trainerOptions, `--trainer_id=${rank}`]
    // Its other ports open when trainers have said what they train.
    const endpoints = [`${addresses[rank]}:${port}`]
    return [
      { ...own, role: 'server', log: 'log/server.log', command: server, endpoints },
      { ...own, role: 'worker', log: 'log/train.log', command: trainer, endpoints: [] },
    ]
  })
}
