/** @file How a command fails: a user's error as words (exit 2), a bug with its stack (exit 1). */
import { CommanderError } from 'commander'
import { noteForLauncher } from '../base/event/index.ts'
import { formatUserError, formatWhere, isUserError, packageFile, systemLimit } from '../base/util/index.ts'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { openOutput } from './output.ts'

const ISSUES =
  'This is a bug in oarfish, not in your files. Please report it with the text above, the command you ran, and the file that oarfish doctor --report writes.'

/** Not this process's fault: another of its job is gone, or has not come (again) yet. */
const OTHERS_GONE: ReadonlySet<string> = new Set([
  'NET_PEER_LOST',
  'NET_NO_ANSWER',
  'NET_NO_CONNECTION',
  'COLLECTIVE_RANK_LOST',
  'COLLECTIVE_RANK_MISSING',
  'PS_MISSING_WORKERS',
  'PS_STOPPED',
])

/** Reports what a command threw and returns its exit code. With `json` the failure is an event too, the last line of the stream. */
export function reportFailure(error: unknown, io: CliIo, { json }: { readonly json: boolean }): number {
  // commander has printed help, version or what is wrong with the arguments by itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof ExitCode) return error.exitCode
  const { emit } = openOutput(io, { json: true })
  const known = isUserError(error) ? error : systemLimit(error)
  if (known) {
    const { code, message, where, hint } = known
    if (json) emit({ kind: 'error', code, message, where: where && formatWhere(where), hint })
    else io.err.write(`${formatUserError(known)}\n`)
    if (OTHERS_GONE.has(code)) noteForLauncher(io.env['OARFISH_LOG_FILE'], 'lost')
    return 2
  }
  const message = error instanceof Error ? error.message : String(error)
  if (json) emit({ kind: 'error', code: 'INTERNAL', message })
  io.err.write(`${fullStack(error)}\n\n${ISSUES}\n`)
  return 1
}

/** The stack with the stacks of its causes. */
function fullStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const stack = withoutFiles(error.stack ?? `${error.name}: ${error.message}`)
  return error.cause === undefined ? stack : `${stack}\ncaused by ${fullStack(error.cause)}`
}

/** Folders and positions in place of the bundle's files, whose names mean nothing: `at createDense (weights/params 182:17)`. */
function withoutFiles(stack: string): string {
  const root = packageFile('dist').replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return stack.replaceAll(
    new RegExp(`(?:file://)?${root}/(.*?)/?[^/():]*\\.js:(\\d+:\\d+)`, 'g'),
    (_, folder, at) => `${folder || 'oarfish'} ${at}`,
  )
}
