/** @file Starts the ranks of a group as processes and reads what they say. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RingPlan } from '../../src/training/collective/index.ts'
import { freePorts } from '../ports.testing.ts'

export const RANK_PROGRAM = fileURLToPath(new URL('./rank.mjs', import.meta.url))

/** A line of test/collective/rank.mjs. */
export interface Line {
  readonly rank?: number
  readonly case?: string
  readonly inThread?: boolean
  readonly ok?: boolean
  readonly digest?: string
  readonly error?: string
  readonly running?: number
  readonly hooks?: string
  readonly closed?: boolean
  readonly failure?: string
  readonly code?: string
  readonly hint?: string
  readonly size?: number
  readonly kind?: string
  readonly description?: string
}

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly lines: readonly Line[]
  /** What was said otherwise, and by whom it was started. */
  readonly text: string
  readonly ms: number
}

export interface Running {
  readonly process: ChildProcess
  readonly lines: Line[]
  readonly ended: Promise<Ended>
  /** Resolves at the first line that fits. */
  until(fits: (line: Line) => boolean): Promise<Line>
}

const PATIENCE_MS = 220_000

export function startProcess(command: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  return watch(spawn(command[0]!, command.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** Reads what a process says; one that does not end is killed. */
export function watch(child: ChildProcess): Running {
  const started = performance.now()
  const lines: Line[] = []
  const watchers = new Set<() => void>()
  let [text, rest] = ['', '']
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  child.stdout!.on('data', (piece: Buffer) => {
    const all = (rest + piece).split('\n')
    rest = all.pop()!
    for (const line of all) {
      const parsed = parse(line)
      if (parsed) lines.push(parsed)
      else text += `${line}\n`
    }
    for (const watch of [...watchers]) watch()
  })
  child.stderr!.on('data', (piece: Buffer) => {
    text += piece
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once('error', (error) => {
      text += error.message
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, lines, text, ms: performance.now() - started })
    })
  })
  const until = (fits: (line: Line) => boolean) =>
    new Promise<Line>((resolve, reject) => {
      const watch = () => {
        const found = lines.find(fits)
        if (!found) return
        watchers.delete(watch)
        resolve(found)
      }
      watchers.add(watch)
      watch()
      void ended.then(({ text }) => reject(new Error(`ended before: ${JSON.stringify(lines.at(-1))} ${text}`)))
    })
  return { process: child, lines, ended, until }
}

/** Launchers print lines of their own between those of ranks. */
function parse(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line
  } catch {
    return undefined
  }
}

/** Ranks of a ring on this host. */
export const RING_IDENTITY = { jobId: 'test', token: 'secret' } as const

export async function startRing(size: number, work: string, more: Partial<RingPlan> = {}): Promise<readonly Running[]> {
  const ports = await freePorts(size)
  const endpoints = ports.map((port) => `127.0.0.1:${port}`)
  const plan = { kind: 'ring', endpoints, identity: RING_IDENTITY, ...more }
  return endpoints.map((_, rank) =>
    startProcess([process.execPath, RANK_PROGRAM, JSON.stringify({ plan: { ...plan, rank }, work })]),
  )
}
