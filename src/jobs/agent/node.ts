/** @file One node of a submitted job, from its files to its output: data, before_hook, the processes of its roles, end_hook. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Env } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { type RemoteFiles, remoteFiles } from '../../base/fs/index.ts'
import { defined } from '../../base/util/index.ts'
import {
  checkSharedMemory,
  FIRST,
  launchPsEnv,
  type Restart,
  recovering,
  restartEnv,
  superviseJob,
} from '../launch/index.ts'
import { bytesOfContent, type Job } from '../submit/index.ts'
import type { PlacedProcess, Placement } from './rendezvous.ts'
import { newFiles, onDisk, sendFile, stageData } from './stage.ts'

export interface NodeOptions extends NodePlace {
  /** Asked when the processes are about to start: who they are, and who the others. */
  readonly placement: () => Promise<Placement>
  /** `fs_ugi` comes as OARFISH_FS_UGI. */
  readonly env: Env
  readonly emit: EventSink
  readonly signal: AbortSignal
  /** Its agent was here before, and is gone: the other nodes are there. @default false */
  readonly isAgain?: boolean | undefined
  /** Whoever started this node starts all of them again. @default its processes are started again here */
  readonly startsOnce?: boolean | undefined
}

/** Which node of which job, and its folders. */
export interface NodePlace {
  readonly job: Job
  readonly node: number
  readonly nodes: number
  /** Empty; becomes the working folder of the job's processes. */
  readonly folder: string
  /** Receives `pserver.0.log`, `trainer.0.log` and those of the hooks. */
  readonly logs: string
  /** Logs of other nodes lie there too, and somebody else collects them. @default false */
  readonly sharesLogs?: boolean
  /** Several processes of the job are on this host, and exchange through its memory. @default false */
  readonly sharesHost?: boolean
}

/** Resolves to the exit code of the node: 0, that of what failed first, or undefined when it was asked to stop. */
export async function runNode(options: NodeOptions): Promise<number | undefined> {
  let failed = false
  try {
    if (options.sharesHost) checkSharedMemory({ ...options, env: { ...options.env, ...options.job.env } })
    const hook = await prepareNode(options)
    return hook === 0 ? await runRoles(options) : hook
  } catch (error) {
    failed = true
    throw error
  } finally {
    // Also after a failure: what was saved until then and the logs are what a user needs most.
    await finishNode(options).catch((error: Error) => {
      if (!failed) throw error
      options.emit({ kind: 'warning', message: `node ${options.node}: its output was not collected: ${error.message}` })
    })
  }
}

/** What the steps around the job's processes need. */
export type StepOptions = Omit<NodeOptions, 'placement' | 'signal'>

/** Files, data and before_hook; resolves to the exit code of the hook. */
export async function prepareNode(options: StepOptions): Promise<number> {
  const { job, folder, logs, emit } = options
  mkdirSync(folder, { recursive: true })
  mkdirSync(logs, { recursive: true })
  const say = (message: string) => emit({ kind: 'notice', message })
  await writeFiles(job, folder)
  if (job.env['use_python3'] === '1') await makePython3(folder)
  const files = filesOf(options)
  if (files) await stageData({ ...options, files, data: job.data, say })
  return await runHook('before_hook', options)
}

/** end_hook and output. */
export async function finishNode(options: StepOptions): Promise<void> {
  const { output } = options.job.data
  const files = filesOf(options)
  try {
    await runHook('end_hook', options)
  } finally {
    if (files && output !== undefined) await collect(options, files, output)
  }
}

const filesOf = ({ job: { data }, env }: Pick<StepOptions, 'job' | 'env'>) =>
  data.fileSystem === undefined ? undefined : remoteFiles(data.fileSystem, { ugi: env['OARFISH_FS_UGI'] })

async function writeFiles({ files }: Job, folder: string): Promise<void> {
  for (const { name, content } of files) {
    const path = join(folder, name)
    await onDisk(path, async () => {
      if (content.path !== undefined) await copyFile(content.path, path)
      else await writeFile(path, bytesOfContent(content))
    })
  }
}

/** `python` of a pipe_command is python3: found before any other, because this folder leads the PATH. */
async function makePython3(folder: string): Promise<void> {
  const bin = join(folder, '.oarfish', 'bin')
  mkdirSync(bin, { recursive: true })
  await writeFile(join(bin, 'python'), '#!/bin/sh\nexec python3 "$@"\n', { mode: 0o755 })
}

/** The hooks are the job's own scripts; one that is not there has nothing to do. */
async function runHook(name: HookName, options: StepOptions): Promise<number> {
  const { job, folder, logs, node, emit, env } = options
  if (!existsSync(join(folder, `${name}.sh`))) return 0
  const log = join(logs, `${name}.${node}.log`)
  const fd = openSync(log, 'w')
  const [program, script] = hookCommand(name)
  const child = spawn(program, [script], { cwd: folder, env: { ...env, ...job.env }, stdio: ['ignore', fd, fd] })
  closeSync(fd)
  const code = await new Promise<number>((done, fail) => {
    child.once('error', fail)
    child.once('exit', (exit) => done(exit ?? 1))
  })
  const message = `${name}.sh of node ${node} ended with exit code ${code}; its output is in ${log}`
  if (code !== 0) emit({ kind: 'warning', message })
  return code
}

/** One process for each that the placement has on this node; where they die they are started again, as those of other nodes are. */
export async function runRoles(options: Omit<NodeOptions, 'node' | 'nodes'>) {
  const { job, folder, logs, env } = options
  const { addresses, token, own } = await options.placement()
  const common = {
    ...env,
    ...job.env,
    ...defined({ OARFISH_FS_NAME: job.data.fileSystem }),
    OARFISH_JOB_TOKEN: token,
    PATH: [join(folder, '.oarfish', 'bin'), env['PATH']].join(delimiter),
  }
  const before = options.isAgain ? 1 : 0
  const numbered = ({ number, resumes }: Restart): Restart => ({ number: number + before, resumes })
  const spec = ({ role, rank, endpoint, sockets }: PlacedProcess, restart: Restart) => ({
    role,
    rank,
    endpoint,
    // Handed over once: started again a process listens at its port by itself.
    sockets: restart.number === 0 ? sockets : [],
    goesOn: restart.number > 0,
    env: {
      ...launchPsEnv(common, addresses, { role, rank, endpoint }),
      ...restartEnv(restart),
      PADDLE_TRAINERS: addresses.workers.map((address) => address.replace(/:\d+$/, '')).join(','),
      PADDLE_TRAINER_ENDPOINTS: addresses.workers.join(','),
      ...(role === 'worker' ? { PADDLE_CURRENT_ENDPOINT: endpoint } : {}),
    },
    cwd: folder,
    log: logOf(logs, { role, rank }),
  })
  const hasAllWorkers = own.filter(({ role }) => role === 'worker').length === addresses.workerNum
  const start = async (restart: Restart) => {
    const processes = own.map((process) => spec(process, numbered(restart)))
    const started = superviseJob({ command: roleCommand(job), processes, hasAllWorkers }, options)
    return { ...started, logs: processes.map(({ log }) => log) }
  }
  if (options.startsOnce) return await (await start(FIRST)).ended
  const isSpread = own.length < addresses.servers.length + addresses.workerNum
  const running = await recovering(start, {
    emit: options.emit,
    signal: options.signal,
    isSpread,
    isAgain: options.isAgain,
  })
  return await running.ended
}

export const logOf = (logs: string, { role, rank }: Pick<PlacedProcess, 'role' | 'rank'>) =>
  join(logs, `${role === 'server' ? 'pserver' : 'trainer'}.${rank}.log`)

/** What a node runs in its folder, in order; one process for each role it has. */
export function nodeCommands(job: Job): readonly (readonly string[])[] {
  const hooks = (name: HookName) => (job.files.some((file) => file.name === `${name}.sh`) ? [hookCommand(name)] : [])
  return [...hooks('before_hook'), ...job.roles.map(() => roleCommand(job)), ...hooks('end_hook')]
}

type HookName = 'before_hook' | 'end_hook'

const hookCommand = (name: HookName) => ['sh', `${name}.sh`] as const

const roleCommand = ({ command }: Job) => ['sh', '-c', replaced(command)] as const

/** A line that is one command takes the shell's place, so that the process started here is the one that trains. */
const replaced = (line: string) => (/^oarfish\s[^&;|<>]*$/.test(line) ? `exec ${line}` : line)

/** Node 0's files lie in the output folder as they lay here, those of others in a folder of their own; logs of all together. */
async function collect(options: StepOptions, files: RemoteFiles, output: string): Promise<void> {
  const { job, node, folder, emit, sharesLogs = false } = options
  const given = new Set(job.files.map(({ name }) => name))
  const written = await newFiles(folder, given)
  const below = node === 0 ? output : join(output, `node-${node}`)
  for (const path of written) await sendFile(files, join(folder, path), join(below, path))
  const logs = sharesLogs ? '' : ` and ${await collectLogs(options)} logs`
  emit({ kind: 'notice', message: `node ${node}: ${written.length} files${logs} are in ${output}` })
}

/** How many there were. */
export async function collectLogs(options: Pick<StepOptions, 'job' | 'logs' | 'env'>): Promise<number> {
  const { output } = options.job.data
  const files = filesOf(options)
  if (!files || output === undefined) return 0
  const printed = await newFiles(options.logs, new Set())
  for (const path of printed) await sendFile(files, join(options.logs, path), join(output, 'log', path))
  return printed.length
}
