/** @file `oarfish cloud serve`: the job server, until it is asked to stop. */
import { existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { packageFile, UserError } from '../base/util/index.ts'
import { metricsAddress, openCloudMetrics } from './cloud-metrics.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'
import { oneOf } from './options.ts'
import { packageVersion } from './user-places.ts'

export interface ServeOptions {
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

const MEBI = 1 << 20

export async function serveJobs(options: ServeOptions, io: CliIo): Promise<void> {
  // Supervisors run in the folders of their jobs, where a relative one would lead elsewhere.
  const dir = resolve(options.dir)
  const { host } = options
  const metricsAt = await metricsAddress(options.metrics_port)
  const runner = await runnerOf(options, io)
  const { readServerKeys } = await import('../base/net/index.ts')
  const { openJobServer } = await import('../jobs/server/index.ts')
  const tls = readServerKeys(options.tlsCert, options.tlsKey)
  const server = await openJobServer({
    ...runner,
    ...{ dir, host, port: options.port, tls },
    limits: { fileBytes: options.maxFileMb * MEBI, jobBytes: options.maxJobMb * MEBI },
    version: packageVersion(),
    warn: (message) => void io.err.write(`${message}\n`),
  })
  const scheme = tls ? 'https' : 'http'
  io.out.write(`The job server listens at ${scheme}://${host}:${server.port}; jobs are kept in ${dir}\n`)
  const metrics = await openCloudMetrics(metricsAt, { ...server, executor: runner.executor.name }, io)
  await asked(io)
  metrics?.close()
  await server.close()
  io.out.write('Stopped. Jobs that run go on, and are found again by the next server.\n')
}

/** What runs the jobs. A server that cannot run any says so when it is started, not when the first job comes. */
async function runnerOf(options: ServeOptions, io: CliIo) {
  const { superviseWords } = await import('../jobs/agent/index.ts')
  const { EXECUTOR_NAMES, executorOf } = await import('../jobs/executors/index.ts')
  const { jobEnv } = await import('../jobs/server/index.ts')
  const { namespace } = options
  const name = oneOf('--executor', EXECUTOR_NAMES, options.executor)
  const { check, ...traits } = executorOf(name)
  const hostfile = hostfileOf(traits.needsHostfile ?? false, options.hostfile)
  refuseIdle(name, options, io.env)
  await check?.({ env: io.env, version: packageVersion(), hostfile, namespace })
  const bin = packageFile('bin')
  const env = { ...io.env, PATH: [join(bin, 'path'), io.env['PATH']].join(delimiter) }
  return {
    executor: { ...traits, name, namespace },
    hostfile,
    supervisor: (hosts: string | undefined) => [
      ...[process.execPath, join(bin, 'oarfish.js')],
      ...superviseWords({ executor: name, hostfile: hosts, namespace }),
    ],
    env: jobEnv(env, { executor: name, more: options.passEnv }),
  }
}

/** Until the first signal; a second one does not wait for what the first began. */
const asked = (io: CliIo) =>
  new Promise<void>((done) => {
    let signals = 0
    io.onSignal((signal) => (signals++ > 0 ? io.exit(STOP_SIGNALS[signal]) : done()))
  })

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
