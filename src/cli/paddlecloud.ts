/** @file `paddlecloud`: PaddleCloud's client, for the job server of this package. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { paceOn } from '../base/event/index.ts'
import { UserError } from '../base/util/index.ts'
import type { TrainFlags } from '../jobs/submit/index.ts'
import { type ClientOptions, clientFor, remember, serverOf } from './cloud-client.ts'
import type { CliIo } from './io.ts'
import { wholeNumber } from './options.ts'
import { idsText, runHere } from './run-here.ts'

export async function paddlecloudCommand(io: CliIo): Promise<Command> {
  const job = new Command('job')
    .description('Submit and watch jobs.')
    .option('--ak <key>', 'access key')
    .option('--sk <key>', 'secret key; better kept in a profile, since other users of this machine see command lines')
    .option('--profile <name>', 'credentials of ~/.config/oarfish/credentials')
    .option('--server <url>', 'address of the job server')
    .enablePositionalOptions()
  const options = () => job.opts<ClientOptions>()
  const { TRAIN_FLAGS } = await import('../jobs/submit/index.ts')
  job.addCommand(trainCommand(TRAIN_FLAGS, (flags) => train(flags, options(), io)))
  for (const [name, description, run] of [
    ['info', 'Show one job.', info],
    ['kill', 'Stop a job.', kill],
  ] as const) {
    job
      .command(name)
      .description(description)
      .argument('<job>')
      .action((id: string) => run(id, options(), io))
  }
  job
    .command('logs')
    .description('Print the logs of a job.')
    .argument('<job>')
    .option('-f, --follow', 'until the job is over')
    .option('--role <name>', 'trainer or pserver')
    .option('--rank <n>', 'of that role', wholeNumber)
    .action(async (id: string, query) => {
      for await (const text of (await clientFor(options(), io, id)).logs(id, query)) io.out.write(text)
    })
  job
    .command('list')
    .description('List your jobs.')
    .action(async () => {
      io.out.write(`${JSON.stringify(await (await clientFor(options(), io)).list(), undefined, 4)}\n`)
    })
  return new Command('paddlecloud').description('Jobs of a job server.').enablePositionalOptions().addCommand(job)
}

async function info(id: string, options: ClientOptions, io: CliIo): Promise<void> {
  io.out.write(`${JSON.stringify(await (await clientFor(options, io, id)).info(id), undefined, 4)}\n`)
}

async function kill(id: string, options: ClientOptions, io: CliIo): Promise<void> {
  const { phase } = await (await clientFor(options, io, id)).stop(id)
  io.out.write(`${id} ${phase === 'stopped' ? 'is stopped' : 'is being stopped'}\n`)
}

/** `table`: what submit/ writes into job.sh and reads again. */
export function trainCommand(
  table: Readonly<Record<string, 'count' | 'text'>>,
  run: (flags: TrainOptions) => Promise<void>,
): Command {
  const command = new Command('train')
    .description('Submit a job: files, config.ini and a command.')
    .requiredOption('--job-name <name>', 'name of the job')
    .requiredOption('--group-name <name>', 'whose resources are used')
    .requiredOption('--start-cmd <line>', 'what each process runs')
    .option('--job-conf <file>', 'environment and data of the job', 'config.ini')
    .option('--files <files...>', 'files for the nodes', [])
    .option('--executor <name>', 'run the job without a job server: mpi, slurm, ssh, local or kubernetes')
    .option('--force', 'kubernetes: replace a job of the same name')
    .option('--hostfile <file>', 'hosts of mpirun or ssh')
  for (const [name, kind] of Object.entries(table))
    if (kind === 'count') command.option(`--${name} <n>`, 'as PaddleCloud has it', wholeNumber)
    else command.option(`--${name} <value>`, 'as PaddleCloud has it')
  return command.option('--json', 'print the ids of the job as JSON').action(run)
}

interface TrainOptions extends TrainFlags {
  readonly jobConf: string
  readonly files: readonly string[]
  readonly executor?: string
  readonly hostfile?: string
  readonly force?: boolean
  readonly json?: boolean
}

async function train(flags: TrainOptions, options: ClientOptions, io: CliIo): Promise<void> {
  const { checkHook, checkScripts, parseConfigIni, readTrainFlags, STAY_HERE } = await import('../jobs/submit/index.ts')
  io.out.write('Start checking your job configuration, please be patient.\n')
  if (!existsSync(flags.jobConf))
    throw new UserError(`There is no ${flags.jobConf}.`, { code: 'SUBMIT_FLAGS', hint: 'Name it with --job-conf.' })
  const ini = parseConfigIni(readFileSync(flags.jobConf, 'utf8'), flags.jobConf)
  const files = filesOf(flags.files, STAY_HERE, io)
  for (const { path } of files.filter(({ name }) => name === 'before_hook.sh')) checkHook(readFileSync(path, 'utf8'))
  checkScripts(files)
  refuseIdle(flags, options)
  const request = readTrainFlags(
    flags,
    ini,
    files.map(({ name }) => name),
  )
  if (flags.executor !== undefined) return await runHere({ request, files, ini }, flags, options, io)
  // Never that of an earlier job, which only commands about jobs ask.
  const client = await clientFor({ ...options, server: options.server ?? (await serverOf(io.env)) }, io)
  const admitted = () => void io.out.write('Congratulations! Job configuration check passed!\n')
  const { carriedUgi } = await import('../base/fs/index.ts')
  const fsUgi = await carriedUgi(request.data.fileSystem, client.fsUgi(ini.fsUgi))
  const onProgress = paceOn(io.out, 'uploading', 'bytes')
  const job = await client.submit({ request, files, fsUgi, onAdmitted: admitted, onProgress })
  await remember(job.jobId, client, io)
  io.out.write('Congratulations! The new job is ready for training.\n')
  io.out.write(idsText(job, flags))
}

/** What would have no effect is refused: who wrote it relies on it. */
function refuseIdle({ executor, hostfile, force }: TrainOptions, { server, ak, sk }: ClientOptions): void {
  const served = Object.entries({ server, ak, sk }).flatMap(([name, value]) => (value === undefined ? [] : `--${name}`))
  const idle = [
    ...(executor !== undefined && served.length > 0 ? [`${served.join(', ')}: --executor asks no job server`] : []),
    ...(hostfile !== undefined && executor !== 'mpi' && executor !== 'ssh'
      ? ['--hostfile is for --executor mpi or ssh']
      : []),
    ...(force && executor !== 'kubernetes' ? ['--force is for --executor kubernetes'] : []),
  ]
  if (idle.length > 0) throw new UserError(`${idle.join('; ')}.`, { code: 'SUBMIT_FLAGS', hint: 'Leave it out.' })
}

function filesOf(paths: readonly string[], stay: readonly string[], io: CliIo) {
  return paths.flatMap((path) => {
    const [name, stats] = [basename(path), statSync(path, { throwIfNoEntry: false })]
    if (!stats) throw new UserError(`--files: there is no ${path}.`, { code: 'SUBMIT_FILES', hint: 'Check the path.' })
    if (stats.isFile()) return stay.includes(name) ? [] : [{ name, path }]
    io.err.write(`${path} is a folder and stays here\n`)
    return []
  })
}
