/** @file A process of a job in words. */
import type { EventOf } from './event.ts'

/** `worker 1 failed (pid 4711): exit code 3` */
export function processText({ role, rank, pid, state, endpoint, log, exit, host }: EventOf<'process'>): string {
  const name = `${host === undefined ? '' : `${host}: `}${role} ${rank}`
  if (state === 'running') return `${name} runs (pid ${pid})${endpoint ? ` on ${endpoint}` : ''}, output in ${log}`
  if (state === 'stopping') return `${name} is asked to stop (pid ${pid})`
  return `${name} ${state === 'done' ? 'is done' : state} (pid ${pid})${exit && state !== 'done' ? `: ${exit}` : ''}`
}
