/** @file A pipe_command as a process: one file on its stdin, text on its stdout, killed with everything it started. */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gunzipFile, localFiles } from '../fs/index.ts'
import { pipeFailed, pipePrintedNothing } from './pipe-errors.ts'

export interface PipeOptions {
  /** What the shell runs for each file, its last arguments included. */
  readonly command: string
  /** The folder it runs in. */
  readonly dir: string
  /** Appended to PYTHONPATH, so that a real paddle wins over the stand-ins in it. */
  readonly pythonPath?: string
  /** Shell commands before it, e.g. a function that its words mean. */
  readonly setup?: string
}

/** [0]: the process a thread runs, 0 for none, so that the thread's owner can end it. [1]: 1 when no other may be started. */
export type ProcessNote = Int32Array<SharedArrayBuffer>

export interface Pipe {
  /** The command's output as it comes: a slow consumer makes the command wait. Leaving it early kills the command. */
  readonly output: AsyncGenerator<Uint8Array, void>
  /** The last of what it said on stderr so far. */
  readonly stderr: () => string
}

const STDERR_KEPT = 4 * 1024

/** Starts the command for one file. It fails with the command's status, or if it printed nothing for a file that is not empty. */
export function startPipe(pipe: PipeOptions, file: string, note: ProcessNote): Pipe {
  if (Atomics.load(note, 1) > 0) throw new Error('The reader pool is closing.')
  const gzip = file.endsWith('.gz')
  const input = gzip ? undefined : openSync(file, 'r')
  // A process group of its own: killing it ends what the shell started too, and Ctrl+C does not reach it before us.
  const child = spawn(shellText(pipe), {
    cwd: pipe.dir,
    shell: true,
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: [input ?? 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>
  if (input !== undefined) closeSync(input)
  Atomics.store(note, 0, child.pid ?? 0)
  const stderr = lastOf(child.stderr)
  const ended = new Promise<Ended>((resolve) => {
    child.on('error', (error) => resolve({ code: null, signal: null, error }))
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  const fed = gzip ? feed(file, child.stdin!) : Promise.resolve(true)
  // Its failure is looked at when the output ends; until then it must not count as unhandled.
  fed.catch(() => killTree(child.pid))

  const output = async function* () {
    let bytes = 0
    let whole = false
    try {
      for await (const data of child.stdout as AsyncIterable<Uint8Array>) {
        bytes += data.length
        yield data
      }
      const hadInput = await fed
      const status = await ended
      whole = true
      const end = { ...pipe, file, ...status, stderr: stderr() }
      if (status.error || status.code !== 0) throw pipeFailed(end)
      if (bytes === 0 && hadInput) throw pipePrintedNothing(end)
    } finally {
      if (!whole) killTree(child.pid)
      Atomics.store(note, 0, 0)
    }
  }
  return { output: output(), stderr }
}

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly error?: Error
}

/** Ends a process and all it started. */
export function killTree(pid: number | undefined): void {
  if (!pid) return
  try {
    if (process.platform === 'win32') spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'])
    else process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

/** As one argument of a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The shell reads the environment itself. Python hashes text differently in each process unless told a seed. */
function shellText({ command, pythonPath, setup = '' }: PipeOptions): string {
  if (process.platform === 'win32') return command
  const python =
    pythonPath === undefined ? '' : `export PYTHONPATH="\${PYTHONPATH:+$PYTHONPATH:}"${quoted(pythonPath)}\n`
  return `${python}export PYTHONHASHSEED="\${PYTHONHASHSEED:-0}"\n${setup}\n${command}`
}

/** Unpacks a gzip file into a process; false if there was nothing in it. A process that has read enough is no error. */
async function feed(file: string, stdin: Writable): Promise<boolean> {
  let bytes = 0
  const pieces = async function* () {
    for await (const { data } of gunzipFile(localFiles, file)) {
      bytes += data.length
      yield data
    }
  }
  try {
    await pipeline(pieces(), stdin)
  } catch (error) {
    if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
  }
  return bytes > 0
}

function lastOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-STDERR_KEPT)
  })
  return () => text
}
