/** @file `oarfish cluster`: PaddlePaddle's cluster_train/paddle.py, a job on hosts that are reached by ssh. */
import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { Command } from 'commander'
import { isUserError, UserError } from '../base/util/index.ts'
import type { CliIo } from './io.ts'
import { wholeNumber } from './options.ts'
import { runOverSsh } from './ssh-options.ts'

interface ClusterFlags {
  readonly conf: string
  readonly job_dispatch_package?: string
  readonly job_workspace?: string
  readonly install?: boolean
  readonly connect_timeout?: number
  readonly stop_timeout?: number
  readonly host_timeout?: number
  readonly max_restart?: number
  readonly resume?: boolean
  readonly json?: boolean
}

const EXAMPLES = `
Examples
  oarfish cluster --conf conf.py --job_dispatch_package=./workspace --use_gpu=0 --log_period=50
  oarfish cluster --conf conf.py --job_workspace=/home/paddle/JOB20261115120000 --use_gpu=0
All other options go to the trainers, as oarfish trainer --help lists them.
`

export function clusterCommand(io: CliIo): Command {
  return new Command('cluster')
    .description(
      'Start the servers and trainers of a job on the hosts of conf.py over ssh, and watch them to their end.',
    )
    .usage('[options] [--trainer_option=value ...]')
    .option('--conf <file>', 'the hosts: conf.py, or the same keys as yaml', 'conf.py')
    .option('-p, --job_dispatch_package <folder>', 'workspace here; what a host does not have of it yet is uploaded')
    .option('-j, --job_workspace <folder>', 'workspace on the hosts from an earlier dispatch; nothing is uploaded')
    .option('--install', 'ship this package to hosts that lack it')
    .option('--connect_timeout <seconds>', 'how long a host may take to answer (default: 10)', wholeNumber)
    .option('--stop_timeout <seconds>', 'how long processes may take to end after Ctrl+C (default: 30)', wholeNumber)
    .option('--resume', 'with -j: go on from the last pass that an earlier job has saved there')
    .option(
      '--max_restart <times>',
      'starts after a process was killed, with no pass saved between (default: 3)',
      wholeNumber,
    )
    .option('--host_timeout <seconds>', 'how long a host that is gone may take to come back (default: 90)', wholeNumber)
    .option('--json', 'print events as JSON lines')
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ClusterFlags, command: Command) => await runCluster(flags, command.args, io))
}

async function runCluster(flags: ClusterFlags, passed: readonly string[], io: CliIo): Promise<void> {
  const { loadClusterConf, runClusterJob, together } = await import('../jobs/ssh/index.ts')
  const problems: UserError[] = []
  /** What is wrong is told with all the rest. */
  const tried = async <T>(work: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (!isUserError(error)) throw error
      problems.push(error)
      return undefined
    }
  }
  const files = await tried(() => workspaceOf(flags))
  const conf = await tried(() => loadClusterConf(flags.conf))
  const trainerOptions = await tried(async () => await checkedOptions(passed, conf?.portsNumForSparse))
  if (files?.kind === 'dispatch') await tried(() => checkPackage(files.folder, trainerOptions ?? passed))
  if (problems.length > 0) throw together(problems)
  const { resume: resumes = false } = flags
  const job = { conf: conf!, files: files!, trainerOptions: trainerOptions!, resumes }
  await runOverSsh(flags, io, async (options) => await runClusterJob({ ...options, ...job }))
}

function workspaceOf({ job_dispatch_package: here, job_workspace: there, resume = false }: ClusterFlags) {
  if (resume && there === undefined)
    throw new UserError('--resume: a folder that is dispatched has no saved passes to go on from.', {
      code: 'SSH_OPTIONS',
      hint: 'Name the folder of the earlier job on the hosts: --job_workspace=/home/paddle/JOB20261115120000 --resume',
    })
  if (here !== undefined && there === undefined) return { kind: 'dispatch', folder: resolve(here) } as const
  if (there !== undefined && here === undefined && there.startsWith('/'))
    return { kind: 'there', folder: there.replace(/\/+$/, '') } as const
  if (there !== undefined && here === undefined)
    throw new UserError(`--job_workspace: expected an absolute path on the hosts, got "${there}".`, {
      code: 'SSH_OPTIONS',
    })
  const said = here === undefined ? 'Neither' : 'Both'
  throw new UserError(
    `--job_workspace or --job_dispatch_package should be set. ${said} of them ${here === undefined ? 'is' : 'are'}; exactly one must be.`,
    {
      code: 'SSH_OPTIONS',
      hint: '--job_dispatch_package=./workspace uploads a folder; --job_workspace=/home/paddle/JOB... uses one that is on the hosts.',
    },
  )
}

/** Set by the launcher itself, from conf.py. */
const OWN = ['num_gradient_servers', 'nics', 'port', 'ports_num', 'pservers', 'trainer_id', 'comment']

/** The trainers' options as `--name=value`, all problems reported before anything is touched. */
async function checkedOptions(passed: readonly string[], sparsePorts: number | undefined): Promise<readonly string[]> {
  const { checkTrainerOptions, parseTrainerOptions } = await import('../paddle/paddle-v1/index.ts')
  const problems = checkTrainerOptions(passed).map(({ message, hint }) => [message, hint].filter(Boolean).join(' '))
  const { ports_num_for_sparse: sparse, ...typed } = parseTrainerOptions(passed, 'trainer').typed
  const own = OWN.filter((name) => name in typed).map(
    (name) => `--${name} is set for each host from conf.py: leave it out.`,
  )
  // run.sh of the original writes it by hand, as conf.py has it.
  const other =
    sparse === undefined || sparsePorts === undefined || sparse === sparsePorts
      ? []
      : [`--ports_num_for_sparse=${sparse}, but PADDLE_PORTS_NUM_FOR_SPARSE is ${sparsePorts} in conf.py.`]
  const all = [...problems, ...own, ...other]
  if (all.length > 0)
    throw new UserError(all.join('\n'), { code: 'SSH_OPTIONS', hint: 'Nothing was uploaded or started.' })
  const words = Object.entries({ save_dir: './output', ...typed }).map(([name, value]) => `--${name}=${textOf(value)}`)
  return words
}

/** Without its configuration every trainer would fail, after the upload. */
function checkPackage(folder: string, trainerOptions: readonly string[]): void {
  const given = trainerOptions.find((word) => word.startsWith('--config='))?.slice('--config='.length)
  const config = (given ?? './trainer_config.ts').replace(/\.py$/, '.ts')
  if (!existsSync(folder) || isAbsolute(config) || existsSync(join(folder, config))) return
  throw new UserError(`--job_dispatch_package: ${folder} has no ${config}.`, {
    code: 'SSH_PACKAGE',
    hint: 'The trainers are started in the dispatched folder: --config=FILE is relative to it.',
  })
}

const textOf = (value: string | number | boolean) =>
  typeof value === 'boolean' ? String(Number(value)) : String(value)
