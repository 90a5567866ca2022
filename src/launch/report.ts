/** @file What a launcher says about its processes. */
import type { ProcessState } from '../event/index.ts'
import type { Child } from './child.ts'
import { lastLines } from './log-lines.ts'

const REPORTED_LINES = 40

export function processEvent({ spec: { role, rank, endpoint, log }, pid, exit }: Child, state: ProcessState) {
  return { kind: 'process', role, rank, pid, state, endpoint, log, ...(exit && { exit: exit.text }) } as const
}

export function failureEvent({ spec: { role, rank, endpoint, log }, pid, exit }: Child) {
  const who = `${role} ${rank}${endpoint ? ` ${endpoint}` : ''} (pid ${pid})`
  const lines = lastLines(log, REPORTED_LINES)
  const tail = lines.length === 0 ? `It printed nothing to ${log}.` : `The end of ${log}:\n${lines.join('\n')}`
  return {
    kind: 'error',
    code: 'LAUNCH_PROCESS_FAILED',
    message: `${who} failed first: ${exit!.text}. The other processes of this host are stopped.`,
    hint: tail,
  } as const
}

export function lingeringEvent(children: readonly Child[]) {
  const left = children.filter(({ exit }) => !exit).map(({ spec, pid }) => `${spec.role} ${spec.rank} (pid ${pid})`)
  const message = `Killed, but still there: ${left.join(', ')}. The kernel holds them, as it does on a disk that does not answer.`
  return { kind: 'warning', message } as const
}
