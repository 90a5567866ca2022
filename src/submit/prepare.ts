/** @file What a submission would write and do: checked, named and rendered, before anything is touched. */
import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import {
  type Backend,
  type BackendName,
  ConfigError,
  checkSubmission,
  type LoadedBackend,
  type LoadedRunConfig,
  type RunnerV1,
  selectedRunners,
  withoutSecrets,
} from '../config/index.ts'
import { type Credentials, profileOf, reference, referred } from './credentials.ts'
import { refuseSameNames, type TakenFile, takeFiles } from './files.ts'
import { beforeHook, configIni, endHook, jobScript, quoted } from './folder.ts'
import type { Job, Plan } from './job.ts'
import { jobOf } from './job-of.ts'

export interface PrepareOptions {
  readonly config: LoadedRunConfig
  readonly backend: LoadedBackend
  /** As given with -b. */
  readonly backendFile: string
  readonly cwd: string
  /** Version of this package. */
  readonly version: string
  readonly now: Date
}

export interface Prepared {
  readonly job: Job
  readonly plan: Plan
  /** To be kept under the job's profile; undefined where backend.yaml already names one. */
  readonly credentials: Credentials | undefined
  readonly warnings: readonly string[]
}

/** One submission for each selected runner that belongs on a cluster. Throws with every problem of all of them. */
export function prepare(given: PrepareOptions): readonly Prepared[] {
  const options = { ...given, backend: startingWith(given.config, given.backend) }
  const { config, backend } = options
  const checked = clusterRunners(config, backend.backend).map((runner) => ({
    runner,
    ...checkSubmission(backend, runner),
  }))
  const problems = checked.flatMap((submission) => submission.problems)
  const distinct = problems.filter(({ key }, i) => problems.findIndex((other) => other.key === key) === i)
  if (distinct.length > 0) throw new ConfigError(distinct, backend.source)
  return checked.map(({ runner, kind, warnings }) => {
    const { files: found, notices } = takeFiles(backend.backend.submit.files, options.cwd)
    const { profile, credentials } = credentialsOf(backend.backend)
    const otherBackends = found.filter((file) => isOtherBackend(file, options))
    const files = withConfig(
      found.filter((file) => !otherBackends.includes(file)),
      options,
    )
    const left = otherBackends.map(({ path }) => `${path} is a backend.yaml too and stays here: it may hold keys`)
    const job = jobOf({ config: config.config, runner, backend: backend.backend, kind: kind!, files, profile })
    return { job, credentials, plan: planOf(job, options), warnings: [...warnings, ...notices, ...left] }
  })
}

const START = 'python -m paddlerec.run -m config.yaml'

/** Unless a command is given, the processes run the config of -m, whatever its name. */
function startingWith({ config }: LoadedRunConfig, loaded: LoadedBackend): LoadedBackend {
  const { submit } = loaded.backend
  if (submit.start_cmd !== START) return loaded
  const start_cmd = START.replace('config.yaml', () => shellWord(basename(config.path)))
  return { ...loaded, backend: { ...loaded.backend, submit: { ...submit, start_cmd } } }
}

const shellWord = (text: string) => (/^[\w./-]+$/.test(text) ? text : quoted(text))

/** cluster_train, and train where a cluster can take a single process. */
export function clusterRunners({ config }: LoadedRunConfig, { cluster_type }: Backend): readonly RunnerV1[] {
  const classes = cluster_type === 'k8s' ? ['cluster_train', 'train'] : ['cluster_train']
  const selected = selectedRunners(config)
  const found = selected.filter((runner) => classes.includes(runner.class))
  // With none of them the first says what is wrong with it.
  return found.length > 0 ? found : selected.slice(0, 1)
}

function credentialsOf({ submit, config }: Backend): { profile: string; credentials: Credentials | undefined } {
  const named = referred(submit.ak) ?? referred(config.fs_ugi)
  if (named !== undefined) return { profile: named, credentials: undefined }
  const credentials = Object.fromEntries(
    Object.entries({ ak: submit.ak, sk: submit.sk, fs_ugi: config.fs_ugi }).filter(([, value]) => value !== ''),
  )
  return { profile: profileOf(submit.group, credentials), credentials }
}

/** `./*.yaml` takes in those for other clusters, whose keys are not for the nodes of this one. */
function isOtherBackend({ path }: TakenFile, { backendFile, cwd }: PrepareOptions): boolean {
  const file = resolve(cwd, path)
  if (!/\.ya?ml$/.test(file) || file === resolve(cwd, backendFile)) return false
  const text = readFileSync(file, 'utf8')
  return /^backend\s*:/m.test(text) && /^submit\s*:/m.test(text)
}

/** The config travels whether a pattern names it or not; backend.yaml stays here, without its secrets. */
function withConfig(taken: readonly TakenFile[], { config, backendFile, cwd }: PrepareOptions): readonly TakenFile[] {
  const path = config.config.path
  const others = taken.filter(
    (file) => resolve(cwd, file.path) !== path && resolve(cwd, file.path) !== resolve(cwd, backendFile),
  )
  const files = [{ path, bytes: Buffer.byteLength(config.source.text) }, ...others]
  refuseSameNames(files)
  return files
}

function planOf(job: Job, { backend, cwd, version, now }: PrepareOptions): Plan {
  const folder = join(cwd, `${job.name}_${stamp(now)}`)
  const { start_cmd: startCommand, server, hostfile } = backend.backend.submit
  const here = hostfile === undefined ? undefined : resolve(cwd, hostfile)
  const executor = DIRECT[backend.backend.backend]
  const direct = executor && { executor, hostfile: here }
  const generated = {
    'backend.yaml': withoutSecrets(backend, reference(job.secrets.profile)),
    'before_hook.sh': beforeHook({ version }),
    'config.ini': configIni(job),
    'end_hook.sh': endHook(),
    'job.sh': jobScript({ job, startCommand, version, server, direct }),
  }
  return {
    folder,
    files: Object.entries(generated).map(([name, text]) => ({ path: join(folder, name), text })),
    steps: [{ what: 'submit the folder', does: `cd ${shellWord(folder)} && sh job.sh` }],
  }
}

/** Those that need no job server. */
const DIRECT: Partial<Readonly<Record<BackendName, 'mpi' | 'slurm' | 'ssh' | 'kubernetes'>>> = {
  ...{ MPI: 'mpi', Slurm: 'slurm', SSH: 'ssh', Kubernetes: 'kubernetes' },
}

/** YYYYmmddHHMM, local time. */
function stamp(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}${two(now.getHours())}${two(now.getMinutes())}`
}
