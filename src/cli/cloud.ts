/** @file `oarfish cloud`: the job server, its groups and users. */
import { existsSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Priority } from '../base/config/index.ts'
import type { Event } from '../base/event/index.ts'
import { packageFile, UserError } from '../base/util/index.ts'
import type { Keys } from '../jobs/server/index.ts'
import { keysCommand } from './cloud-keys.ts'
import { metricsAddress, openCloudMetrics } from './cloud-metrics.ts'
import { exitWith, stopSignal } from './interrupt.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'
import { oneOf, wholeNumber } from './options.ts'
import { packageVersion } from './user-places.ts'

const MEBI = 1 << 20

interface ServeOptions {
  readonly dir: string
  readonly port: number
  readonly host: string
  readonly executor: string
  readonly hostfile?: string
  readonly namespace?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly metrics_port?: string
  readonly maxFileMb: number
  readonly maxJobMb: number
  readonly passEnv: readonly string[]
}

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
    .action((options: ServeOptions) => serve(options, io))
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
      const { addGroup } = await import('../jobs/server/index.ts')
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
      const { addUser } = await import('../jobs/server/index.ts')
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
      const { rotateKeys } = await import('../jobs/server/index.ts')
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
const accountsFile = (dir: string) => join(dir, 'accounts.json')
const QUEUE_MS = 300

async function serve(options: ServeOptions, io: CliIo): Promise<void> {
  const { superviseWords } = await import('../jobs/agent/index.ts')
  const { EXECUTOR_NAMES, executorOf } = await import('../jobs/executors/index.ts')
  const cloud = await import('../jobs/server/index.ts')
  const name = oneOf('--executor', EXECUTOR_NAMES, options.executor)
  const metricsAt = await metricsAddress(options.metrics_port)
  const { namespace } = options
  const { check, ...traits } = executorOf(name)
  const hostfile = hostfileOf(traits.needsHostfile ?? false, options.hostfile)
  refuseIdle(name, options, io.env)
  // A server that cannot run jobs says so when it is started, not when the first job comes.
  await check?.({ env: io.env, version: packageVersion(), hostfile, namespace })
  const executor = { ...traits, name, namespace }
  const { readServerKeys } = await import('../base/net/index.ts')
  const tls = readServerKeys(options.tlsCert, options.tlsKey)
  const release = await cloud.holdStore(options.dir)
  const warn = (message: string) => void io.err.write(`${message}\n`)
  const store = await cloud.openStore(options.dir)
  const nonces = cloud.openNonces(join(options.dir, 'nonces'))
  const accounts = cloud.accountsReader(accountsFile(options.dir), warn)
  await cloud.sealAccounts(accountsFile(options.dir)).catch(() => undefined) // its reader tells what is wrong with it
  const bin = packageFile('bin')
  const dispatcher = cloud.createDispatcher({
    store,
    executor,
    accounts,
    hostfile,
    supervisor: (hosts) => [
      ...[process.execPath, join(bin, 'oarfish.js')],
      ...superviseWords({ executor: name, hostfile: hosts, namespace }),
    ],
    env: cloud.jobEnv(
      { ...io.env, PATH: [join(bin, 'path'), io.env['PATH']].join(delimiter) },
      { executor: name, more: options.passEnv },
    ),
    warn,
  })
  const limits = { fileBytes: options.maxFileMb * MEBI, jobBytes: options.maxJobMb * MEBI }
  const server = cloud.createJobServer({
    store,
    dispatcher,
    executor,
    limits,
    accounts,
    nonces,
    version: packageVersion(),
    rotate: async (user) => {
      const { ak, sk } = await cloud.rotateKeys(accountsFile(options.dir), user)
      return { ak, sk }
    },
    tls,
  })
  await new Promise<void>((done, fail) => server.once('error', fail).listen(options.port, options.host, done)).catch(
    async (cause: NodeJS.ErrnoException) => {
      nonces.close()
      await store.close()
      release()
      throw cannotListen(cause, options)
    },
  )
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  io.out.write(
    `The job server listens at ${tls ? 'https' : 'http'}://${options.host}:${port}; jobs are kept in ${options.dir}\n`,
  )
  const metrics = await openCloudMetrics(metricsAt, { store, accounts, executor: name }, io)
  const timer = setInterval(() => void dispatcher.turn(), QUEUE_MS)
  await new Promise<void>((done) => {
    let signals = 0
    io.onSignal((signal) => (signals++ > 0 ? io.exit(STOP_SIGNALS[signal]) : done()))
  })
  clearInterval(timer)
  metrics?.close()
  server.close()
  server.closeAllConnections()
  await store.close()
  nonces.close()
  release()
  io.out.write('Stopped. Jobs that run go on, and are found again by the next server.\n')
}

function hostfileOf(isNeeded: boolean, hostfile: string | undefined): string | undefined {
  if (hostfile === undefined && !isNeeded) return undefined
  if (hostfile !== undefined && existsSync(hostfile)) return resolve(hostfile)
  const problem = hostfile === undefined ? '--executor ssh needs a --hostfile' : `--hostfile: there is no ${hostfile}`
  throw new UserError(`${problem}.`, { code: 'CLI_OPTION', hint: 'List the hosts in a file, one a line, and name it.' })
}

/** What an executor does not use is no setting of it. */
function refuseIdle(executor: string, { hostfile, namespace, passEnv }: ServeOptions, env: CliIo['env']): void {
  const unset = passEnv.filter((variable) => env[variable] === undefined)
  const idle = [
    ...(hostfile !== undefined && !['mpi', 'ssh'].includes(executor) ? ['--hostfile: only mpi and ssh have one'] : []),
    ...(namespace !== undefined && executor !== 'kubernetes' ? ['--namespace: only kubernetes has one'] : []),
    ...(unset.length > 0 ? [`--pass-env: ${unset.join(', ')} is not set here`] : []),
  ]
  if (idle.length > 0)
    throw new UserError(`${idle.join('\n')}.`, {
      code: 'CLI_OPTION',
      hint: `Leave it out with --executor ${executor}${unset.length > 0 ? ', or set it' : ''}.`,
    })
}

function cannotListen(cause: NodeJS.ErrnoException, { host, port }: ServeOptions): UserError {
  const why = cause.code === 'EADDRINUSE' ? 'another program has this port' : cause.message
  return new UserError(`The job server cannot listen on ${host}:${port}: ${why}.`, {
    code: 'CLOUD_LISTEN',
    hint: 'Name a free port with --port; 0 is any.',
    cause,
  })
}

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
  const { readNode, runMpiNode, runMpiStep, taggedFailure } = await import('../jobs/agent/index.ts')
  const step = readNode(words)
  const options = {
    env: io.env,
    signal: stopSignal(io),
    emit: plainSink(io, taggedFailure),
    print: (line: string) => void io.out.write(line),
    readJob: async () => JSON.parse(await text(Readable.from(io.input()))),
    folder: join(io.env['OARFISH_WORK'] ?? tmpdir(), `oarfish-${io.env['OARFISH_JOB_ID'] ?? process.pid}`),
  }
  exitWith(await (step === undefined ? runMpiNode(options) : runMpiStep(step, options)))
}

/** What the node says, on the output that mpirun collects. */
export const plainSink = (io: CliIo, failure: (text: string) => string) => (event: Event) => {
  if (event.kind === 'process') io.out.write(`${event.role} ${event.rank} (pid ${event.pid}): ${event.state}\n`)
  else if (event.kind === 'notice' || event.kind === 'warning') io.out.write(`${event.message}\n`)
  else if (event.kind === 'error')
    io.out.write(failure([event.message, event.hint].filter((text) => text !== undefined).join('\n')))
}
