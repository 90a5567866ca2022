/** @file `oarfish cloud`: the job server, its groups and users. */
import { existsSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Priority } from '../base/config/index.ts'
import type { Event } from '../base/event/index.ts'
import type { Keys } from '../jobs/server/index.ts'
import { keysCommand } from './cloud-keys.ts'
import { type ServeOptions, serveJobs } from './cloud-serve.ts'
import { exitWith, stopSignal } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { oneOf, wholeNumber } from './options.ts'
import { packageVersion } from './user-places.ts'

export function cloudCommand(io: CliIo): Command {
  const dir = ['--dir <folder>', 'where jobs and accounts are kept', serverFolder()] as const
  const cloud = new Command('cloud').description('The job server behind `oarfish run -b`, its groups and users.')
  cloud
    .command('serve')
    .description('Take jobs, queue them by group and priority, run them.')
    .option(...dir)
    .option('--port <n>', 'where to listen', wholeNumber, 8180)
    .option('--host <address>', 'the address to listen on; 0.0.0.0 for all', '127.0.0.1')
    .option(
      '--executor <name>',
      'what runs jobs: local (all nodes on this host, one job at a time), mpi (mpirun), ssh, slurm (sbatch) or kubernetes',
      'local',
    )
    .option('--hostfile <file>', 'hosts of mpirun or ssh')
    .option('--namespace <name>', 'kubernetes: where all jobs lie; default: where they say, or that of the kubeconfig')
    .option('--tls-cert <file>', 'serve HTTPS: a certificate, PEM, with those between it and its authority')
    .option('--tls-key <file>', 'its private key, PEM')
    .option('--metrics_port <port>', "Prometheus' metrics there, on this host alone; with an address: 0.0.0.0:9100")
    .option('--max-file-mb <n>', 'larger files are refused', wholeNumber, 256)
    .option('--max-job-mb <n>', 'larger jobs are refused', wholeNumber, 1024)
    .option('--pass-env <names>', 'further variables of this environment that jobs get, separated by commas', names, [])
    .action((options: ServeOptions) => serveJobs(options, io))
  for (const [name, run] of Object.entries(INTERNAL))
    cloud
      .command(name, { hidden: true })
      .argument('[words...]')
      .allowUnknownOption()
      .action(async (words: readonly string[]) => await run(words, io))
  addAccountCommands(cloud, dir, io)
  cloud.addCommand(keysCommand(io))
  return cloud
}

function addAccountCommands(cloud: Command, dir: readonly [string, string, string], io: CliIo): void {
  const group = cloud.command('group').description('Who shares what.')
  group
    .command('add')
    .description('Add a group, or change it.')
    .argument('<name>')
    .option(...dir)
    .requiredOption('--quota <n>', 'nodes that its jobs may hold at one time', wholeNumber)
    .option('--priorities <list>', 'which its jobs may have, separated by commas (default: all)')
    .option('--queue', 'also make its queue of Volcano, with your kubeconfig')
    .action(async (given: string, options: { dir: string; quota: number; priorities?: string; queue?: boolean }) => {
      const { groupOf } = await import('../jobs/submit/index.ts')
      const name = groupOf(given)
      const { accountsFile, addGroup } = await import('../jobs/server/index.ts')
      const { PRIORITIES } = await import('../base/config/index.ts')
      const asked = options.priorities?.split(',') ?? PRIORITIES
      const priorities = asked.map((word) => oneOf('--priorities', PRIORITIES, word) as Priority)
      await addGroup(accountsFile(options.dir), name, { quota: options.quota, priorities })
      io.out.write(`group ${name}: ${options.quota} nodes, priorities ${priorities.join(', ')}\n`)
      if (options.queue) io.out.write(await queueOfGroup(name, io))
    })
  const user = cloud.command('user').description('Who may submit.')
  user
    .command('add')
    .description('Add a user and print the keys, this once.')
    .argument('<name>')
    .option(...dir)
    .requiredOption('--group <names>', 'groups, separated by commas')
    .option('--uid <n>', 'user id that the processes of the jobs get; without it they run as the server', wholeNumber)
    .option('--admin', 'sees and stops the jobs of all users')
    .action(async (name: string, options: { dir: string; group: string; uid?: number; admin?: boolean }) => {
      const { accountsFile, addUser } = await import('../jobs/server/index.ts')
      const { groupOf } = await import('../jobs/submit/index.ts')
      const { dir, group, uid, admin } = options
      const groups = group.split(',').map(groupOf)
      io.out.write(keysText(name, await addUser(accountsFile(dir), { name, groups, uid, admin })))
    })
  user
    .command('rotate')
    .description('Give a user new keys and print them, this once.')
    .argument('<name>')
    .option(...dir)
    .action(async (name: string, options: { dir: string }) => {
      const { accountsFile, rotateKeys } = await import('../jobs/server/index.ts')
      io.out.write(keysText(name, await rotateKeys(accountsFile(options.dir), name)))
    })
}

async function queueOfGroup(group: string, { env }: CliIo): Promise<string> {
  const { connectKube, makeQueue, queueOf } = await import('../jobs/kube/index.ts')
  const isNew = await makeQueue(await connectKube({ env }), group)
  return `queue ${queueOf(group)} of Volcano: ${isNew ? 'made' : 'it was there'}\n`
}

/** Started by oarfish itself; the words of each are written and read in agent/own-commands.ts. */
const INTERNAL: Readonly<Record<string, (words: readonly string[], io: CliIo) => Promise<void>>> = {
  supervise,
  ranks,
  node,
}

const keysText = (name: string, { ak, sk }: Keys) =>
  `user ${name}\nak: ${ak}\nsk: ${sk}\nKeep them: they are not shown again. They belong to submit.ak and submit.sk of backend.yaml.\n`

/** A server of root's serves other users, whose processes cannot enter root's home. */
function serverFolder(): string {
  const own = join(homedir(), '.local/share/oarfish/cloud')
  return process.getuid?.() === 0 && !existsSync(own) ? '/var/lib/oarfish/cloud' : own
}

const names = (list: string) => list.split(',').filter((name) => name !== '')
async function supervise(words: readonly string[], io: CliIo): Promise<void> {
  const { readSupervise } = await import('../jobs/agent/index.ts')
  const { EXECUTOR_NAMES } = await import('../jobs/executors/index.ts')
  const { superviseCloudJob } = await import('../jobs/server/index.ts')
  const { executor, ...flags } = readSupervise(words)
  await superviseCloudJob({
    ...flags,
    executor: oneOf('--executor', EXECUTOR_NAMES, executor),
    version: packageVersion(),
    env: io.env,
    signal: stopSignal(io),
  })
}

/** Within an allocation of Slurm, on its first node. */
async function ranks(words: readonly string[], io: CliIo): Promise<void> {
  const { readRanks } = await import('../jobs/agent/index.ts')
  const { runBatch } = await import('../jobs/executors/index.ts')
  const options = { env: io.env, version: packageVersion(), signal: stopSignal(io) }
  exitWith(await runBatch({ ...options, folder: readRanks(words) }))
}

/** One rank of mpirun: rank 0 reads the job from its input. */
async function node(words: readonly string[], io: CliIo): Promise<void> {
  const { readNode, runMpiStep, taggedFailure } = await import('../jobs/agent/index.ts')
  const step = readNode(words)
  const options = {
    env: io.env,
    signal: stopSignal(io),
    emit: plainSink(io, taggedFailure),
    print: (line: string) => void io.out.write(line),
    readJob: async () => JSON.parse(await text(Readable.from(io.input()))),
    folder: join(io.env['OARFISH_WORK'] ?? tmpdir(), `oarfish-${io.env['OARFISH_JOB_ID'] ?? process.pid}`),
  }
  exitWith(await runMpiStep(step, options))
}

/** What the node says, on the output that mpirun collects. */
export const plainSink = (io: CliIo, failure: (text: string) => string) => (event: Event) => {
  if (event.kind === 'process') io.out.write(`${event.role} ${event.rank} (pid ${event.pid}): ${event.state}\n`)
  else if (event.kind === 'notice' || event.kind === 'warning') io.out.write(`${event.message}\n`)
  else if (event.kind === 'error')
    io.out.write(failure([event.message, event.hint].filter((text) => text !== undefined).join('\n')))
}
