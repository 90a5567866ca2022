/** @file A user's reader in a Python process that stays: files go in one job after another, frames of samples come out. */
import type { ChildProcess } from 'node:child_process'
import { packageFile, shellWord } from '../../base/util/index.ts'
import { killTree, startShell } from '../pipes/pipe.ts'
import { type FifoPaths, fifoOutput, type PipeOutput, streamOutput } from '../pipes/pipe-output.ts'
import { countProcess, isOver, noteProcess, noteResident, type ProcessNote } from '../pipes/process-note.ts'
import { createFrameReader, type Frame } from './frames.ts'

export interface PythonReaderOptions {
  /** The reader's file. */
  readonly path: string
  /** The folder of the config: other modules of the reader are found there. */
  readonly dir: string
  /** The config itself. */
  readonly yaml: string
  /** The working folder: readers open files of their own from it. */
  readonly cwd: string
  /** The class, where the config names it. @default RecDataset, else Reader */
  readonly className?: string | undefined
  /** PaddleRec's configuration: dotted keys, as written. */
  readonly config: Readonly<Record<string, unknown>>
  /** It is given all files at once instead of one after the other. @default false */
  readonly together?: boolean | undefined
}

export interface PythonJob {
  readonly files: readonly string[]
  readonly seed: number
}

export interface PythonPlace {
  readonly note: ProcessNote
  readonly fifos?: FifoPaths | undefined
  /** Names of the slots in order. */
  readonly slots: readonly string[]
  /** Which rank of how many it is. */
  readonly rank: number
  readonly size: number
}

export interface PythonProcess {
  /** `ready` or why it could not be loaded, then the frames of a job, the last of which is `end` or `failed`; undefined: the process has ended. */
  next(read: number): Promise<Frame | undefined>
  start(job: PythonJob): Promise<void>
  /** No read waits for it any more: what ends a read must not end it. */
  rest(): void
  /** How it ended, once it has. */
  ended(): Promise<PythonEnd>
  /** Kills it, with all it started. */
  close(): void
}

export interface PythonEnd {
  readonly code: number | null
  readonly signal: string | null
  readonly error?: Error | undefined
  readonly stderr: string
}

const FOLDER = packageFile('python')
const RUNNER = packageFile('python/oarfish_reader.py')

/** The first Python of the PATH; exec: the process that is killed is Python's own. */
const START = `command -v python3 >/dev/null 2>&1 && exec python3 ${shellWord(RUNNER)}
exec python ${shellWord(RUNNER)}`

export function startPython(options: PythonReaderOptions, place: PythonPlace): PythonProcess {
  const { note, fifos, rank, size } = place
  const fifo = fifos && fifoOutput(fifos)
  // The launcher's own variables do not count: files are dealt out before the reader sees them, unless it divides them itself.
  const setup = `export PADDLE_TRAINER_ID=${rank} PADDLE_TRAINERS_NUM=${size}`
  const shell = { command: START, dir: options.cwd, pythonPath: FOLDER, setup }
  const child = startShell(shell, undefined, fifo?.given)
  const output: PipeOutput = fifo ?? streamOutput(child.stdout!, child.stderr!)
  const pid = child.pid ?? 0
  noteProcess(note, pid)
  noteResident(note, pid)
  if (pid > 0) countProcess(note, 1)
  const ended = endOf(child).then((end) => {
    if (pid > 0) countProcess(note, -1)
    noteResident(note, 0)
    return end
  })
  // A process that has died says so by the end of its output.
  child.stdin!.on('error', () => undefined)
  const { path, dir, yaml, className, config } = options
  child.stdin!.write(line({ path, dir, yaml, className, config, slots: place.slots }))
  const frames = createFrameReader(output)
  const next = async (read: number) => {
    const frame = isOver(note, read) ? undefined : await frames()
    if (isOver(note, read)) throw new Error('The read is over.')
    return frame
  }
  return {
    next,
    start: (job) => {
      noteProcess(note, pid)
      return new Promise((resolve) => child.stdin!.write(line(job), () => resolve()))
    },
    rest: () => noteProcess(note, 0),
    ended: async () => ({ ...(await ended), stderr: output.stderr() }),
    close: () => {
      noteProcess(note, 0)
      killTree(pid)
      child.stdin!.destroy()
      output.close()
    },
  }
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`

function endOf(child: ChildProcess): Promise<Omit<PythonEnd, 'stderr'>> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, error }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}
