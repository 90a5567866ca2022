/** @file launch(): the processes of a job on this host, with parameter servers or as ranks, started and watched by a program. */
import { overrideArguments, type Settings } from '../base/config/index.ts'
import { type Env, processEnv } from '../base/env/index.ts'
import type { Event, EventOf, EventSink, Metrics } from '../base/event/index.ts'
import { packageFile, UserError } from '../base/util/index.ts'
import { loadConfig } from './config.ts'
import type { WatchOptions } from './event-feed.ts'
import { type Run, startRun, type Watched } from './run.ts'

/** Options of launch: `config` or `script`, and `servers` with `workers`, or `ranks`. */
export interface LaunchOptions extends WatchOptions {
  /** Trains this config.yaml, or this model of the package, in every process. */
  readonly config?: string | undefined
  /** Settings over those of `config`. */
  readonly set?: Settings | undefined
  /** Instead of `config`: a program (.ts, .js, .mjs) and its arguments; its train() takes the process's part in the job. */
  readonly script?: readonly [program: string, ...args: string[]] | undefined
  /** Parameter servers: how many, or host:port of each. With `workers`. */
  readonly servers?: number | readonly string[] | undefined
  /** Workers beside them: how many, or host:port of each. */
  readonly workers?: number | readonly string[] | undefined
  /** Instead of servers and workers: so many ranks that compute as one. */
  readonly ranks?: number | undefined
  /** Goes on from the newest checkpoint in runner.model_save_path; of `config`. @default false */
  readonly resume?: boolean | undefined
  /** The folder of the processes' output: serverlog.0, workerlog.0 ... @default 'log' */
  readonly logDir?: string | undefined
  /** The job's name, for all its processes. @default a random one */
  readonly jobId?: string | undefined
  /** How long processes may take to end in good order once they are asked to, until they are killed. @default 30 */
  readonly stopSeconds?: number | undefined
  /** Variables of the processes, beside those of this one. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/** What came of a launched job. */
export interface LaunchResult {
  /** Of worker or rank 0, whose metrics are those of all; 0 and {} for a `script`. */
  readonly samples: number
  readonly seconds: number
  readonly metrics: Metrics
  /** On runner.test_data_dir after the last epoch; undefined where there is none. */
  readonly evaluation?: Metrics | undefined
  /** It was asked to stop, and did before it was done. */
  readonly interrupted: boolean
  /** Where the output of every process is. */
  readonly logDir: string
}

/**
 * Starts the processes of a job on this host, waits for all of them and leaves none behind. Its events are those of the processes'
 * states and, of a `config`, those of worker or rank 0. A process that fails ends the job and throws.
 *
 * @example
 * const { metrics } = await launch({ config: 'config.yaml', servers: 1, workers: 2 })
 * await launch({ config: 'config.yaml', ranks: 2 })
 * await launch({ script: ['program.ts'], servers: 2, workers: 2 })
 */
export function launch(options: LaunchOptions): Run<LaunchResult> {
  return startRun(options, async ({ emit, signal }) => {
    checkOptions(options)
    const { logDir = 'log', stopSeconds = 30 } = options
    const seen: { done?: EventOf<'done'>; failed?: EventOf<'process'>; error?: EventOf<'error'> } = {}
    const watch: EventSink = (event) => {
      const said = options.config === undefined ? event : spoken(event)
      if (said.kind === 'done') seen.done = said
      if (said.kind === 'error') seen.error ??= said
      if (said.kind === 'process' && said.state === 'failed') seen.failed ??= said
      emit(said)
    }
    const running = await start(options, { emit: watch, signal }, { logDir, stopMs: stopSeconds * 1000 })
    const code = await running.ended
    if (code) throw failure(code, seen.failed, seen.error)
    const { samples = 0, seconds = 0, metrics = {}, evaluation } = seen.done ?? {}
    return { samples, seconds, metrics, evaluation, interrupted: code === undefined, logDir }
  })
}

async function start(
  options: LaunchOptions,
  watched: Watched,
  where: { readonly logDir: string; readonly stopMs: number },
) {
  const { ranks, jobId } = options
  const {
    collectiveLayout,
    fleetrunLayout,
    launch: launchServers,
    launchCollective,
  } = await import('../jobs/launch/index.ts')
  const env: Env = { ...processEnv(), ...options.env }
  const common = { ...watched, ...where, script: commandOf(options), env, oarfish: OARFISH, jobId }
  if (ranks !== undefined) {
    const layout = collectiveLayout({ nproc_per_node: ranks }, {})
    return await launchCollective({ ...common, layout, commandFor: () => '' })
  }
  const { servers, workers } = options
  const flags = { ...counted('server', servers), ...counted('worker', workers) }
  return await launchServers({ ...common, layout: fleetrunLayout(flags, {}) })
}

const OARFISH = [process.execPath, packageFile('bin/oarfish.js')]

/** A number of processes, or where each of them listens. */
function counted(role: 'server' | 'worker', given: number | readonly string[] | undefined) {
  if (given === undefined) return {}
  return typeof given === 'number' ? { [`${role}_num`]: given } : { [`${role}s`]: given.join(',') }
}

/** What is wrong with a configuration is found here, before anything starts. */
function commandOf({ config, set = {}, script, resume = false }: LaunchOptions): readonly string[] {
  if (config === undefined) return script!
  loadConfig({ config, set })
  const overrides = overrideArguments(set)
  const settings = overrides.length > 0 ? ['-o', ...overrides] : []
  return [...OARFISH, 'train', '-m', config, '--json', ...(resume ? ['--resume'] : []), ...settings]
}

/** What the first worker or rank says is an event of its own: it prints them as JSON lines. */
function spoken(event: Event): Event {
  if (event.kind !== 'output' || !event.echo || !event.line.startsWith('{"kind":"')) return event
  try {
    return JSON.parse(event.line) as Event
  } catch {
    return event
  }
}

function checkOptions({ config, set, script, servers, workers, ranks }: LaunchOptions): void {
  const wrong = (message: string, hint: string) => new UserError(`launch: ${message}`, { code: 'LAUNCH_FLAG', hint })
  if ((config === undefined) === (script === undefined))
    throw wrong('what to run is not said, or said twice.', 'Pass either config or script.')
  if (set !== undefined && config === undefined)
    throw wrong('set is of a config; a script has arguments.', 'Leave out set.')
  if ((ranks === undefined) === (servers === undefined && workers === undefined))
    throw wrong('which processes to start is not said, or said twice.', 'Pass ranks: 2, or servers: 1 and workers: 2.')
  for (const [name, value] of Object.entries({ servers, workers, ranks }))
    if (typeof value === 'number' && !(Number.isInteger(value) && value >= 1))
      throw wrong(`${name}: expected a whole number from 1, got ${value}.`, `Write ${name}: 1.`)
}

function failure(code: number, failed: EventOf<'process'> | undefined, error: EventOf<'error'> | undefined): UserError {
  const who = failed
    ? `${failed.role}[${failed.rank}] failed with ${failed.exit ?? `exit code ${code}`}`
    : `exit code ${code}`
  const why = error ? `: ${error.message}` : ''
  const hint = error?.hint ?? (failed ? `Its output is in ${failed.log}.` : undefined)
  return new UserError(`The job failed: ${who}${why}`, { code: 'LAUNCH_FAILED', hint })
}
