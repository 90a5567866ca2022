/** @file What the processes of a job print, as events while they run. */
import type { EventSink } from '../event/index.ts'
import type { Child } from './child.ts'
import { LineReader, lastLines } from './log-lines.ts'

const POLL_MS = 100

export interface FollowOptions {
  readonly emit: EventSink
  /** Also emit the newest line of processes that are not echoed. */
  readonly sampleOutput?: boolean
}

/** Emits what processes print: the first worker of this host, or a process that is alone, line by line, the others by sample. */
export function follow(children: readonly Child[], { emit, sampleOutput = false }: FollowOptions) {
  const echoed = children.length === 1 ? children[0] : children.find(({ spec }) => spec.role === 'worker')
  const reader = echoed && new LineReader(echoed.spec.log)
  const newest = new Map<Child, string>()
  const output = ({ spec: { role, rank } }: Child, line: string, echo: boolean) =>
    emit({ kind: 'output', role, rank, line, echo })
  const poll = (child: Child, last: boolean) => {
    if (child === echoed) for (const line of reader!.read(last)) output(child, line, true)
    else if (sampleOutput) {
      const [line] = lastLines(child.spec.log, 1)
      if (line === undefined || newest.get(child) === line) return
      newest.set(child, line)
      output(child, line, false)
    }
  }
  const timer = setInterval(() => {
    for (const child of children) if (!child.exit) poll(child, false)
  }, POLL_MS)
  return { drain: (child: Child) => poll(child, true), close: () => clearInterval(timer) }
}
