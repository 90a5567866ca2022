/** @file `oarfish cloud`: the job server, its groups and users. */
import { existsSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import type { Priority } from '../config/index.ts'
import type { Event } from '../event/index.ts'
import { UserError } from '../util/index.ts'
import { ExitCode } from './exit.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'
import { oneOf, wholeNumber } from './options.ts'
import { packageVersion } from './version.ts'

const EXECUTORS = {
  local: { name: 'local', kinds: ['_MPI'], atOnce: 1 },
  mpi: { name: 'mpi', kinds: ['_MPI'], atOnce: Number.POSITIVE_INFINITY },
  kubernetes: { name: 'kubernetes', kinds: ['_K8S'], atOnce: Number.POSITIVE_INFINITY, resumes: true },
  ssh: { name: 'ssh', kinds: ['_MPI'], atOnce: Number.POSITIVE_INFINITY },
  slurm: { name: 'slurm', kinds: ['_MPI'], atOnce: Number.POSITIVE_INFINITY, resumes: true },
} as const
const MEBI = 1 << 20

interface ServeOptions {
  readonly dir: string
  readonly port: number
  readonly host: string
  readonly executor: string
  readonly hostfile?: string
  readonly namespace?: string
  readonly maxFileMb: number
  readonly maxJobMb: number
}

export function cloudCommand(io: CliIo): Command {
  const dir = [
    '--dir <folder>',
    'where jobs and accounts are kept',
    join(homedir(), '.local/share/oarfish/cloud'),
  ] as const
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
    .option('--max-file-mb <n>', 'larger files are refused', wholeNumber, 256)
    .option('--max-job-mb <n>', 'larger jobs are refused', wholeNumber, 1024)
    .action((options: ServeOptions) => serve(options, io))
  cloud
    .command('supervise', { hidden: true })
    .argument('<folder>')
    .option('--executor <name>', 'what runs it', 'local')
    .option('--hostfile <file>', 'hosts of mpirun')
    .option('--namespace <name>', 'where jobs lie')
    .action((folder: string, options: SuperviseFlags) => supervise(folder, options, io))
  cloud
    .command('ranks', { hidden: true })
    .argument('<folder>')
    .action((folder: string) => ranks(folder, io))
  cloud
    .command('node', { hidden: true })
    .option('--step <name>', 'of a collective job')
    .action(({ step }: { step?: string }) => node(step, io))
  const group = cloud.command('group').description('Who shares what.')
  group
    .command('add')
    .description('Add a group, or change it.')
    .argument('<name>')
    .option(...dir)
    .requiredOption('--quota <n>', 'nodes that its jobs may hold at one time', wholeNumber)
    .option('--priorities <list>', 'which its jobs may have, separated by commas (default: all)')
    .action(async (name: string, options: { dir: string; quota: number; priorities?: string }) => {
      const { addGroup } = await import('../cloud/index.ts')
      const { PRIORITIES } = await import('../config/index.ts')
      const asked = options.priorities?.split(',') ?? PRIORITIES
      const priorities = asked.map((word) => oneOf('--priorities', PRIORITIES, word) as Priority)
      await addGroup(accountsFile(options.dir), name, { quota: options.quota, priorities })
      io.out.write(`group ${name}: ${options.quota} nodes, priorities ${priorities.join(', ')}\n`)
    })
  const user = cloud.command('user').description('Who may submit.')
  user
    .command('add')
    .description('Add a user and print the keys, this once.')
    .argument('<name>')
    .option(...dir)
    .requiredOption('--group <names>', 'groups, separated by commas')
    .option('--uid <n>', 'user id that the processes of the jobs get; without it they run as the server', wholeNumber)
    .action(async (name: string, options: { dir: string; group: string; uid?: number }) => {
      const { addUser } = await import('../cloud/index.ts')
      const { ak, sk } = await addUser(accountsFile(options.dir), {
        name,
        groups: options.group.split(','),
        uid: options.uid,
      })
      io.out.write(keysText(name, ak, sk))
    })
  user
    .command('rotate')
    .description('Give a user new keys and print them, this once.')
    .argument('<name>')
    .option(...dir)
    .action(async (name: string, options: { dir: string }) => {
      const { rotateKeys } = await import('../cloud/index.ts')
      const { ak, sk } = await rotateKeys(accountsFile(options.dir), name)
      io.out.write(keysText(name, ak, sk))
    })
  return cloud
}

const keysText = (name: string, ak: string, sk: string) =>
  `user ${name}\nak: ${ak}\nsk: ${sk}\nKeep them: they are not shown again. They belong to submit.ak and submit.sk of backend.yaml.\n`

const accountsFile = (dir: string) => join(dir, 'accounts.json')
const QUEUE_MS = 300

async function serve(options: ServeOptions, io: CliIo): Promise<void> {
  const {
    EXECUTOR_NAMES,
    accountsReader,
    createDispatcher,
    createJobServer,
    findMpirun,
    findSlurm,
    holdStore,
    openStore,
  } = await import('../cloud/index.ts')
  const name = oneOf('--executor', EXECUTOR_NAMES, options.executor)
  const { namespace } = options
  const executor = { ...EXECUTORS[name], namespace }
  if (name === 'mpi') findMpirun(io.env)
  if (name === 'kubernetes') await checkCluster(namespace, io)
  if (name === 'slurm') await findSlurm(io.env)
  const hosts = hostsFlag(name, options.hostfile)
  const within = namespace === undefined ? [] : ['--namespace', namespace]
  const release = await holdStore(options.dir)
  const store = await openStore(options.dir)
  const bin = fileURLToPath(new URL('../../bin', import.meta.url))
  const dispatcher = createDispatcher({
    store,
    executor,
    accounts: accountsReader(accountsFile(options.dir)),
    supervisor: [
      process.execPath,
      join(bin, 'oarfish.js'),
      'cloud',
      'supervise',
      '--executor',
      name,
      ...hosts,
      ...within,
    ],
    env: { ...io.env, PATH: [join(bin, 'path'), io.env['PATH']].join(delimiter) },
    warn: (message) => void io.err.write(`${message}\n`),
  })
  const limits = { fileBytes: options.maxFileMb * MEBI, jobBytes: options.maxJobMb * MEBI }
  const server = createJobServer({
    ...{ store, dispatcher, executor, limits, accountsFile: accountsFile(options.dir) },
    version: packageVersion(),
  })
  await new Promise<void>((done, fail) => server.once('error', fail).listen(options.port, options.host, done)).catch(
    (cause: NodeJS.ErrnoException) => {
      release()
      throw cannotListen(cause, options)
    },
  )
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  io.out.write(`The job server listens at http://${options.host}:${port}; jobs are kept in ${options.dir}\n`)
  const timer = setInterval(() => void dispatcher.turn(), QUEUE_MS)
  await new Promise<void>((done) => {
    let signals = 0
    io.onSignal((signal) => (signals++ > 0 ? io.exit(STOP_SIGNALS[signal]) : done()))
  })
  clearInterval(timer)
  server.close()
  server.closeAllConnections()
  await store.close()
  release()
  io.out.write('Stopped. Jobs that run go on, and are found again by the next server.\n')
}

/** Told when the server is started, not when the first job comes. */
function hostsFlag(executor: string, hostfile: string | undefined): readonly string[] {
  if (hostfile === undefined && executor !== 'ssh') return []
  if (hostfile !== undefined && existsSync(hostfile)) return ['--hostfile', resolve(hostfile)]
  const problem = hostfile === undefined ? '--executor ssh needs a --hostfile' : `--hostfile: there is no ${hostfile}`
  throw new UserError(`${problem}.`, { code: 'CLI_OPTION', hint: 'List the hosts in a file, one a line, and name it.' })
}

function cannotListen(cause: NodeJS.ErrnoException, { host, port }: ServeOptions): UserError {
  const why = cause.code === 'EADDRINUSE' ? 'another program has this port' : cause.message
  return new UserError(`The job server cannot listen on ${host}:${port}: ${why}.`, {
    code: 'CLOUD_LISTEN',
    hint: 'Name a free port with --port; 0 is any.',
    cause,
  })
}

/** A server that cannot reach its cluster says so when it is started, not when the first job comes. */
async function checkCluster(namespace: string | undefined, { env }: CliIo): Promise<void> {
  const { connectKube } = await import('../kube/index.ts')
  await (await connectKube({ env, namespace })).get('/version')
}

interface SuperviseFlags {
  readonly executor: string
  readonly namespace?: string
  readonly hostfile?: string
}

async function supervise(folder: string, { executor, hostfile, namespace }: SuperviseFlags, io: CliIo): Promise<void> {
  const { EXECUTOR_NAMES, superviseCloudJob } = await import('../cloud/index.ts')
  const stop = new AbortController()
  io.onSignal(() => stop.abort())
  const name = oneOf('--executor', EXECUTOR_NAMES, executor)
  const version = packageVersion()
  await superviseCloudJob({ folder, executor: name, hostfile, namespace, version, env: io.env, signal: stop.signal })
}

/** Within an allocation of Slurm, on its first node. */
async function ranks(folder: string, io: CliIo): Promise<void> {
  const { runBatch } = await import('../cloud/index.ts')
  const stop = new AbortController()
  io.onSignal(() => stop.abort())
  const code = await runBatch({ folder, env: io.env, signal: stop.signal })
  if (code !== 0) throw new ExitCode(code ?? STOP_SIGNALS.SIGTERM)
}

/** One rank of mpirun: rank 0 reads the job from its input. */
async function node(step: string | undefined, io: CliIo): Promise<void> {
  const { MPI_STEPS, runMpiNode, runMpiStep, taggedFailure } = await import('../agent/index.ts')
  const stop = new AbortController()
  io.onSignal(() => stop.abort())
  const options = {
    ...{
      env: io.env,
      signal: stop.signal,
      emit: plainSink(io, taggedFailure),
      print: (line: string) => void io.out.write(line),
    },
    readJob: async () => JSON.parse(await text(Readable.from(io.input()))),
    folder: join(io.env['OARFISH_WORK'] ?? tmpdir(), `oarfish-${io.env['OARFISH_JOB_ID'] ?? process.pid}`),
  }
  const code = await (step === undefined ? runMpiNode(options) : runMpiStep(oneOf('--step', MPI_STEPS, step), options))
  if (code !== 0) throw new ExitCode(code ?? STOP_SIGNALS.SIGTERM)
}

/** What the node says, on the output that mpirun collects. */
export const plainSink = (io: CliIo, failure: (text: string) => string) => (event: Event) => {
  if (event.kind === 'process') io.out.write(`${event.role} ${event.rank} (pid ${event.pid}): ${event.state}\n`)
  else if (event.kind === 'notice' || event.kind === 'warning') io.out.write(`${event.message}\n`)
  else if (event.kind === 'error')
    io.out.write(failure([event.message, event.hint].filter((text) => text !== undefined).join('\n')))
}
