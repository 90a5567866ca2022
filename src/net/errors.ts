/** @file What goes wrong between processes, in words: who, where, doing what, and what to do about it. */
import { UserError } from '../util/index.ts'

export function peerLost(who: string, why: string, cause?: unknown): UserError {
  return new UserError(`${who} is gone: ${why}`, {
    code: 'NET_PEER_LOST',
    hint: `see the log of ${who} for its last lines; every process of the job stops now`,
    cause,
  })
}

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
