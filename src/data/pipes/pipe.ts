/** @file A pipe_command as a process: one file on its stdin, text on its stdout, killed with everything it started. */
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { anyFiles, contentOf, isRemotePath } from '../../base/fs/index.ts'
import { shellWord } from '../../base/util/index.ts'
import type { ByteSource } from '../text/text-stream.ts'
import { pipeFailed, pipePrintedNothing } from './pipe-errors.ts'
import { type FifoPaths, fifoOutput, streamOutput } from './pipe-output.ts'
import { countProcess, isOver, noteProcess, type ProcessNote } from './process-note.ts'

export interface PipeOptions {
  /** What the shell runs for each file, its last arguments included. */
  readonly command: string
  /** The folder it runs in. */
  readonly dir: string
  /** Appended to PYTHONPATH, so that a real paddle wins over the stand-ins in it. */
  readonly pythonPath?: string | undefined
  /** Shell commands before it, e.g. a function that its words mean. */
  readonly setup?: string | undefined
}

/** A command that runs. */
export interface Pipe extends ByteSource {
  /** The last of what it said on stderr so far. */
  stderr(): string
  /** Kills it, with all it started, unless it has ended. */
  close(): void
}

export interface PipePlace {
  readonly note: ProcessNote
  /** The read it belongs to. */
  readonly read: number
  readonly fifos?: FifoPaths | undefined
}

/**
 * Starts the command for one file. Reading its output makes it wait for a slow consumer; the end of the output is an error
 * where it did not end with status 0, or printed nothing for a file that is not empty.
 */
export function startPipe(pipe: PipeOptions, file: string, { note, read, fifos }: PipePlace): Pipe {
  const isFed = file.endsWith('.gz') || isRemotePath(file)
  // A thread that writes into the command must not sleep until the command prints.
  const fifo = fifos && !isFed ? fifoOutput(fifos) : undefined
  const child = startShell(pipe, isFed ? undefined : file, fifo?.given)
  const output = fifo ?? streamOutput(child.stdout!, child.stderr!)
  noteProcess(note, child.pid ?? 0)
  if (child.pid) {
    countProcess(note, 1)
    child.once('exit', () => countProcess(note, -1))
  }
  const ended = new Promise<Ended>((resolve) => {
    child.on('error', (error) => resolve({ code: null, signal: null, error }))
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  const fed = isFed ? feed(file, child.stdin!) : Promise.resolve(true)
  // Its failure is looked at when the output ends; until then it must not count as unhandled.
  fed.catch(() => killTree(child.pid))

  let bytes = 0
  let whole = false
  return {
    read: async (into) => {
      const more = isOver(note, read) ? 0 : await output.read(into)
      if (isOver(note, read)) throw new Error('The read is over.')
      bytes += more
      if (more > 0) return more
      const hadInput = await fed
      const status = await ended
      whole = true
      const end = { ...pipe, file, ...status, stderr: output.stderr() }
      if (status.error || status.code !== 0) throw pipeFailed(end)
      if (bytes === 0 && hadInput) throw pipePrintedNothing(end)
      return 0
    },
    stderr: () => output.stderr(),
    close: () => {
      if (!whole) killTree(child.pid)
      output.close()
      noteProcess(note, 0)
    },
  }
}

/** The file, if any, is the command's standard input; the descriptors given to it are closed here. */
export function startShell(
  pipe: PipeOptions,
  file: string | undefined,
  outputs?: readonly [number, number],
): ChildProcess {
  const input = file === undefined ? 'pipe' : openSync(file, 'r')
  const given: ('pipe' | number)[] = [input, ...(outputs ?? (['pipe', 'pipe'] as const))]
  try {
    // A process group of its own: killing it ends what the shell started too, and Ctrl+C does not reach it before us.
    const options: SpawnOptions = { cwd: pipe.dir, shell: true, detached: IS_POSIX, windowsHide: true, stdio: given }
    return spawn(shellText(pipe), options)
  } finally {
    for (const own of given) if (typeof own === 'number') closeSync(own)
  }
}

const IS_POSIX = process.platform !== 'win32'

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly error?: Error | undefined
}

/** Ends a process and all it started. */
export function killTree(pid: number | undefined): void {
  if (!pid) return
  try {
    if (!IS_POSIX) spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'])
    else process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

/** The shell reads the environment itself. Python hashes text differently in each process unless given a seed. */
function shellText({ command, pythonPath, setup = '' }: PipeOptions): string {
  if (!IS_POSIX) return command
  const python =
    pythonPath === undefined ? '' : `export PYTHONPATH="\${PYTHONPATH:+$PYTHONPATH:}"${shellWord(pythonPath)}\n`
  return `${python}export PYTHONHASHSEED="\${PYTHONHASHSEED:-0}"\n${setup}\n${command}`
}

/** Writes the content of a file into a process; false if there was nothing in it. A process that has read enough is no error. */
async function feed(file: string, stdin: Writable): Promise<boolean> {
  let bytes = 0
  const pieces = async function* () {
    for await (const data of contentOf(anyFiles, file)) {
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
