/** @file A shell line as the program of a pod: its output passed on, signals passed down, its end as an exit code. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { Env } from '../../../base/env/index.ts'

export interface EntryOptions {
  readonly env: Env
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly signal: AbortSignal
}

export interface EntryEnd {
  /** 128 + the number of a signal that ended it, as a shell has it. */
  readonly code: number
  /** Of what it printed on the error stream. */
  readonly lastLines: readonly string[]
}

const KEPT_LINES = 10

export async function runEntry(line: string, { env, out, err, signal }: EntryOptions): Promise<EntryEnd> {
  // A group of its own: a signal reaches the program, not only its shell.
  const child = spawn('sh', ['-c', line], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const stop = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGTERM')
    } catch {} // it has just ended
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  let lastLines: readonly string[] = []
  read(child.stdout, out)
  read(child.stderr, (text) => {
    err(text)
    lastLines = [...lastLines, ...text.split('\n').filter(saysWhy)].slice(-KEPT_LINES)
  })
  try {
    return await new Promise((done, fail) => {
      child.once('error', fail)
      child.once('close', (code, name) => done({ code: code ?? 128 + constants.signals[name!], lastLines }))
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Not where in the code it happened: that is in the log. */
const saysWhy = (line: string) => line.trim() !== '' && !/^\s+at |^Node\.js v|^\s*[\^{}]+$/.test(line)

/** Whole lines at a time, so that those of several streams do not mix. */
function read(stream: Readable, take: (text: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) take(rest + text.slice(0, end))
    rest = end > 0 ? text.slice(end) : rest + text
  })
  stream.on('end', () => {
    if (rest !== '') take(rest)
  })
}
