/** @file What a submission would write and do: checked, named and rendered, before anything is touched. */
import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import {
  type Backend,
  type BackendName,
  ConfigError,
  type ConfigProblem,
  checkSubmission,
  type LoadedBackend,
  type LoadedRunConfig,
  type RunnerV1,
  selectedRunners,
  withoutSecrets,
} from '../../base/config/index.ts'
import { isUserError, shellWord, UserError } from '../../base/util/index.ts'
import { checkScripts, commandOf } from './command.ts'
import { parseConfigIni, renderConfigIni } from './config-ini.ts'
import { type Credentials, profileOf, reference, referred } from './credentials.ts'
import { refuseSameNames, type TakenFile, takeFiles } from './files.ts'
import { beforeHook, endHook, jobScript } from './folder.ts'
import type { Job } from './job.ts'
import { jobOf } from './job-of.ts'
import { modelProblems } from './models.ts'

export interface PrepareOptions {
  readonly config: LoadedRunConfig
  readonly backend: LoadedBackend
  /** As given with -b. */
  readonly backendFile: string
  readonly cwd: string
  /** Version of this package. */
  readonly version: string
  readonly now: Date
  /** Of backend.yaml, found by looking at the file system. @default none */
  readonly dataProblems?: readonly ConfigProblem[]
}

export interface Prepared {
  readonly job: Job
  readonly plan: SubmissionFolder
  /** To be kept under the job's profile; undefined where backend.yaml already names one. */
  readonly credentials: Credentials | undefined
  readonly warnings: readonly string[]
}

/** What is written before job.sh is run there. */
export interface SubmissionFolder {
  readonly folder: string
  readonly files: readonly { readonly path: string; readonly text: string }[]
}

/** One submission for each selected runner that belongs on a cluster. Throws with every problem of all of them. */
export function prepare(given: PrepareOptions): readonly Prepared[] {
  const options = { ...given, backend: startingWith(given.config, given.backend) }
  const { config, backend } = options
  const checked = clusterRunners(config, backend.backend).map((runner) => ({
    runner,
    ...checkSubmission(backend, runner),
  }))
  const problems = [...checked.flatMap((submission) => submission.problems), ...(given.dataProblems ?? [])]
  const distinct = problems.filter(({ key }, i) => problems.findIndex((other) => other.key === key) === i)
  const inBackend = distinct.length > 0 ? [new ConfigError(distinct, backend.source)] : []
  throwAll([...inBackend, ...fileErrors(options)])
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

/** Files, models and commands that a job would fail for on its nodes. */
function fileErrors({ config, backend, cwd }: PrepareOptions): readonly UserError[] {
  const { submit } = backend.backend
  const errors: UserError[] = []
  const tried = <T>(work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      if (!isUserError(error)) throw error
      errors.push(error)
      return undefined
    }
  }
  const taken = submit.files.trim() === '' ? undefined : tried(() => takeFiles(submit.files, cwd).files)
  const files = (taken ?? []).map(({ path }) => ({ name: basename(path), path: resolve(cwd, path) }))
  const names = files.map(({ name }) => name)
  tried(() => commandOf(submit.start_cmd, names))
  tried(() => checkScripts(files))
  const models = taken ? modelProblems(config, clusterRunners(config, backend.backend), names, cwd) : []
  if (models.length > 0) errors.push(new ConfigError(models, config.source))
  return errors
}

function throwAll(errors: readonly UserError[]): void {
  const [first, ...others] = errors
  if (!first) return
  if (others.length === 0) throw first
  const text = ({ message, hint }: UserError) => [message, hint].filter(Boolean).join('\n')
  throw new UserError(errors.map(text).join('\n\n'), { code: 'SUBMIT_INVALID', cause: first })
}

const START = 'python -m paddlerec.run -m config.yaml'

/** Unless a command is given, the processes run the config of -m, whatever its name. */
function startingWith({ config }: LoadedRunConfig, loaded: LoadedBackend): LoadedBackend {
  const { submit } = loaded.backend
  if (submit.start_cmd !== START) return loaded
  const start_cmd = START.replace('config.yaml', () => shellWord(basename(config.path)))
  return { ...loaded, backend: { ...loaded.backend, submit: { ...submit, start_cmd } } }
}

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

function planOf(job: Job, { backend, cwd, version, now }: PrepareOptions): SubmissionFolder {
  const folder = join(cwd, `${job.name}_${stamp(now)}`)
  const { backend: name, submit } = backend.backend
  const { start_cmd: startCommand, server } = submit
  const hostfile = submit.hostfile === undefined ? undefined : resolve(cwd, submit.hostfile)
  const generated = {
    'backend.yaml': withoutSecrets(backend, reference(job.secrets.profile)),
    'before_hook.sh': beforeHook({ version }),
    'config.ini': renderConfigIni(job),
    'end_hook.sh': endHook(),
    'job.sh': jobScript({ job, startCommand, version, server, executor: executorFor(name), hostfile }),
  }
  return {
    folder,
    files: Object.entries(generated).map(([file, text]) => ({ path: join(folder, file), text })),
  }
}

/** The executor of a backend has its name in small letters; PaddleCloud is a job server, which has its own. */
export const executorFor = (backend: BackendName) => (backend === 'PaddleCloud' ? undefined : lowerCase(backend))

const lowerCase = <Text extends string>(text: Text) => text.toLowerCase() as Lowercase<Text>

/** The job as it arrives behind job.sh: beside what was taken the files that are generated for nodes, and what config.ini says. */
export function sentJob({ job, plan }: Pick<Prepared, 'job' | 'plan'>, cwd: string): Job {
  const taken = job.files.map(({ name, content }) =>
    content.path === undefined ? { name, content } : { name, content: { path: resolve(cwd, content.path) } },
  )
  const generated = plan.files
    .map(({ path, text }) => ({ name: basename(path), content: { text } }))
    .filter(({ name }) => !STAY_HERE.includes(name))
  const files = [...taken, ...generated].sort((a, b) => (a.name < b.name ? -1 : 1))
  const ini = generated.find(({ name }) => name === 'config.ini')!.content.text
  const { data, env } = parseConfigIni(ini, 'config.ini')
  return { ...job, files, data, env }
}

/** They belong to the submitting side, and may hold keys. */
export const STAY_HERE: readonly string[] = ['job.sh', 'backend.yaml']

/** YYYYmmddHHMM, local time. */
function stamp(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}${two(now.getHours())}${two(now.getMinutes())}`
}
