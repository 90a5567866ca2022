/** @file One node of a job over ssh, over all starts of its agent: where that dies, or its host goes and comes back, it is started again in its place. */
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventSink } from '../../base/event/index.ts'
import { exchanged, type NodeTask } from '../agent/index.ts'
import { MAX_RESTART } from '../launch/index.ts'
import type { RemoteHost } from '../ssh/index.ts'
import { keepLine } from './job-folder.ts'

export interface DriveOptions {
  readonly words: readonly string[]
  readonly task: NodeTask
  /** Of the job. */
  readonly folder: string
  readonly onExchange: (text: string) => void
  readonly emit: EventSink
  /** A new connection to the same host; rejects where there is none yet. */
  readonly reopen: () => Promise<Pick<RemoteHost, 'spawn'>>
  /** How long a host may be away. @default 90 s */
  readonly awayMs?: number | undefined
}

export interface DrivenNode {
  /** Exit code of its last agent. */
  readonly ended: Promise<number>
  stop(): void
  /** What all nodes have given. */
  answer(texts: readonly string[]): void
}

const STOP_MS = 60_000 // of a node that is asked to stop: it collects what was written
const AWAY_MS = 90_000
const LOOK_MS = 1000
/** What ssh ends with where the connection, or the process at its other end, was ended by something else than itself. */
const SSH_LOST = 255
const KILLED = 137

export function driveNode(host: Pick<RemoteHost, 'spawn'>, options: DriveOptions): DrivenNode {
  const { task, emit } = options
  let current = start(host, options, task)
  let places: readonly string[] | undefined
  let isStopped = false
  const run = async (): Promise<number> => {
    for (let again = 1; ; again++) {
      const code = await current.ended
      // Before all nodes knew of each other there is no place that could be taken again.
      const isLost = code === SSH_LOST || code === KILLED
      if (isStopped || !isLost || !places || again > MAX_RESTART) return code
      const message = `The agent of node ${task.node} is gone. It is started again in its place, ${again} of ${MAX_RESTART} times; the others wait for it.`
      emit({ kind: 'warning', message })
      const opened = await backAgain(options, () => isStopped)
      if (!opened) return code
      current = start(opened, options, { ...task, places })
      if (isStopped) current.stop()
    }
  }
  return {
    ended: run(),
    stop: () => {
      isStopped = true
      current.stop()
    },
    answer: (texts) => {
      places = texts
      current.answer(texts)
    },
  }
}

/** Undefined: the host does not come back. */
async function backAgain({ reopen, awayMs = AWAY_MS }: DriveOptions, isStopped: () => boolean) {
  for (const until = performance.now() + awayMs; performance.now() < until && !isStopped(); await sleep(LOOK_MS)) {
    const opened = await reopen().catch(() => undefined)
    if (opened) return opened
  }
  return undefined
}

function start(host: Pick<RemoteHost, 'spawn'>, { words, folder, onExchange }: DriveOptions, task: NodeTask) {
  const child = host.spawn(words)
  child.stdin!.on('error', () => undefined) // that it is gone shows below
  const send = (value: unknown) => void child.stdin!.write(`${JSON.stringify(value)}\n`)
  send(task)
  for (const stream of [child.stdout!, child.stderr!])
    createInterface({ input: stream }).on('line', (line) => {
      const given = exchanged(line)
      if (given === undefined) keepLine(folder, line)
      else onExchange(given)
    })
  const ended = new Promise<number>((done) => {
    child.once('close', (code) => done(code ?? KILLED))
  })
  const stop = () => {
    child.stdin!.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    void ended.then(() => clearTimeout(timer))
  }
  return { ended, stop, answer: (texts: readonly string[]) => send(texts) }
}
