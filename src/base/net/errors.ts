/** @file What goes wrong between processes, in words: who, where, doing what, and what to do about it. */
import { UserError } from '../util/index.ts'

export function peerLost(who: string, why: string, cause?: unknown): UserError {
  return new UserError(`${who} is gone: ${why}`, {
    code: 'NET_PEER_LOST',
    hint: `see the log of ${who} for its last lines; every process of the job stops now`,
    cause,
  })
}

/** How long a process may be silent, where nothing else is said. */
export const SILENCE_MS = 10 * 1000

export function peerSilent(who: string, silentMs: number, limitMs: number): UserError {
  return new UserError(`${who} is gone: no sign of life for ${Math.round(silentMs)} ms`, {
    code: 'NET_PEER_LOST',
    hint: `see the log of ${who} for its last lines; every process of the job stops now. Where hosts or the network stand still for longer than ${limitMs / 1000} s, raise runner.silence_limit`,
  })
}

/** A process whose pulse goes on, and nothing else of it. */
export function peerStuck(who: string, stuckMs: number): UserError {
  return new UserError(`${who} is gone: its process lives, but its main thread has not run for ${seconds(stuckMs)} s`, {
    code: 'NET_PEER_LOST',
    hint: `it is stuck, or in a call that takes longer than FLAGS_rpc_deadline (milliseconds) allows: see the log of ${who} for its last lines; every process of the job stops now`,
  })
}

/** A process that lives and runs, while its connection carries nothing. */
export function peerCutOff(who: string, quietMs: number): UserError {
  return peerLost(who, `its process lives, but nothing came over its connection for ${Math.round(quietMs)} ms`)
}

export function stuckText(who: string, stuckMs: number): string {
  return `${who} lives, but its main thread has not run for ${seconds(stuckMs)} s; the job waits for it.`
}

const seconds = (ms: number) => Math.round(ms / 1000)

export function noAnswer(who: string, what: string, timeoutMs: number): UserError {
  return new UserError(`${who}: no answer to ${what} in ${timeoutMs} ms, though it is alive`, {
    code: 'NET_NO_ANSWER',
    hint: `see the log of ${who}, or raise FLAGS_rpc_deadline (milliseconds)`,
  })
}

export function noConnection(who: string, timeoutMs: number, cause: unknown): UserError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UserError(`${who} could not be reached in ${timeoutMs} ms: ${reason}`, {
    code: 'NET_NO_CONNECTION',
    hint: `start ${who}, and check that its address is right and its port open from this host`,
    cause,
  })
}

export function refused(who: string, reason: string, hint: string): UserError {
  return new UserError(`${who} refused this process: ${reason}`, { code: 'NET_REFUSED', hint })
}

/** Said by the side that refused. */
export function stranger(who: string, reason: string, hint: string): UserError {
  return new UserError(`${who} was refused: ${reason}`, { code: 'NET_STRANGER', hint })
}
