/** @file The processes of jobs on their host. A file beside each log says which process writes it, so that a job is found again after its launcher died. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../../base/env/index.ts'
import { forgetNotes, notesOf } from '../../base/event/index.ts'
import { processStart } from '../../base/util/index.ts'
import { follow, lastLines, startChild } from '../launch/index.ts'
import type { AnswerOf, Note, ProcessRequest, ProcessRole, RequestOf } from './protocol.ts'

/** What a pid file holds. A number alone may mean another process by the time somebody reads it. */
interface PidFile {
  readonly job: string
  readonly role: ProcessRole
  readonly rank: number
  readonly pid: number
  readonly start: string
}

export interface StartContext {
  readonly env: Env
  readonly onNote: (note: Note) => void
}

const REPORTED_LINES = 40
const SUFFIX = '.pid'

/** Starts a process that outlives this one; as long as this one lives it reports what that one prints and how it ends. */
export function startProcess(request: ProcessRequest, { env, onNote }: StartContext): AnswerOf<'start'> {
  const { job, role, rank, folder, goesOn = false } = request
  const log = join(folder, request.log)
  forgetNotes([log]) // of a start that nobody saw the end of
  const child = startChild(
    {
      role,
      rank,
      endpoint: '',
      log,
      cwd: folder,
      sockets: [],
      outlives: true,
      goesOn,
      env: { ...env, ...request.env, OARFISH_JOB: job, ...libraryPath(request, env) },
    },
    request.command,
  )
  const { pid } = child
  const start = processStart(pid)
  const file = `${log}${SUFFIX}`
  if (start !== undefined) writeFileSync(file, `${JSON.stringify({ job, role, rank, pid, start } satisfies PidFile)}\n`)
  const follower = follow([child], {
    emit: (event) => event.kind === 'output' && onNote({ kind: 'output', role, rank, line: event.line }),
  })
  void child.exited.then(({ code, text }) => {
    follower.drain(child)
    follower.close()
    rmSync(file, { force: true })
    const [lines, notes] = [code === 0 ? [] : lastLines(log, REPORTED_LINES), notesOf(log)]
    forgetNotes([log])
    onNote({ kind: 'ended', role, rank, code, text, lines, notes })
  })
  return { pid }
}

function libraryPath({ libraryPath }: ProcessRequest, env: Env): Env {
  if (libraryPath === '') return {}
  return { LD_LIBRARY_PATH: [libraryPath, env['LD_LIBRARY_PATH']].filter(Boolean).join(':') }
}

/** Of all jobs whose logs are in this folder. */
export function runningProcesses(folder: string): readonly PidFile[] {
  const log = join(folder, 'log')
  return namesIn(log)
    .filter((name) => name.endsWith(SUFFIX))
    .flatMap((name) => {
      const found = readPidFile(join(log, name))
      return found && isRunning(found) ? [found] : []
    })
}

const POLL_MS = 50
const KILLED_MS = 5000 // a killed process is gone unless the kernel holds it

export async function stopProcesses({ folder, job, role, stopMs }: RequestOf<'stop'>): Promise<AnswerOf<'stop'>> {
  const found = runningProcesses(folder).filter((process) => process.job === job && process.role === role)
  for (const process of found) signal(process, 'SIGTERM')
  if (!(await gone(found, stopMs))) {
    for (const process of found) signal(process, 'SIGKILL')
    await gone(found, KILLED_MS)
  }
  return { stopped: found.filter((process) => !isRunning(process)).map(({ pid }) => pid) }
}

/** Right now and without waiting: for who leaves in the midst of stopping. */
export function killProcesses({ folder, job }: Pick<RequestOf<'stop'>, 'folder' | 'job'>): void {
  for (const process of runningProcesses(folder)) if (process.job === job) signal(process, 'SIGKILL')
}

const CONNECT_MS = 2000

export async function reach({ endpoints, timeoutMs }: RequestOf<'reach'>): Promise<AnswerOf<'reach'>> {
  const until = Date.now() + timeoutMs
  let missing = endpoints
  for (;;) {
    const answers = await Promise.all(missing.map(answersAt))
    missing = missing.filter((_endpoint, i) => !answers[i])
    if (missing.length === 0 || Date.now() > until) return { missing }
    await sleep(POLL_MS)
  }
}

function answersAt(endpoint: string): Promise<boolean> {
  const colon = endpoint.lastIndexOf(':')
  const socket = connect({ host: endpoint.slice(0, colon), port: Number(endpoint.slice(colon + 1)) })
  return new Promise<boolean>((done) => {
    socket.setTimeout(CONNECT_MS, () => done(false))
    socket.once('connect', () => done(true)).once('error', () => done(false))
  }).finally(() => socket.destroy())
}

function readPidFile(path: string): PidFile | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as PidFile
  } catch {
    return undefined
  }
}

function isRunning({ pid, start }: PidFile): boolean {
  return processStart(pid) === start
}

/** To the process and all it started: it leads a group of its own. */
function signal(process_: PidFile, name: 'SIGTERM' | 'SIGKILL'): void {
  if (!isRunning(process_)) return
  try {
    process.kill(-process_.pid, name)
  } catch {
    // Gone in between.
  }
}

async function gone(processes: readonly PidFile[], withinMs: number): Promise<boolean> {
  const until = Date.now() + withinMs
  while (processes.some(isRunning)) {
    if (Date.now() > until) return false
    await sleep(POLL_MS)
  }
  return true
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
