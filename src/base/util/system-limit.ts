/** @file What the system refuses, in words: files, processes, memory and disks have limits that somebody has set, and can raise. */
import { sizeText } from './bytes.ts'
import { UserError } from './errors.ts'

interface Refusal {
  readonly message: (limit: string | undefined) => string
  readonly hint: string
  /** Its name in Node's report. */
  readonly limit?: string
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  EMFILE: {
    message: (limit) => `This process may have ${limit ?? 'no more'} files and sockets open at a time, and needs more.`,
    hint: 'Raise the limit where you start it: ulimit -n 65536 (LimitNOFILE= of a service, nofile in /etc/security/limits.conf).',
    limit: 'open_files',
  },
  ENFILE: {
    message: () => 'The machine has no more open files to give.',
    hint: 'Raise fs.file-max (sysctl), or end what holds so many.',
  },
  ENOSPC: {
    message: () => 'There is no room left where a file was written.',
    hint: 'df -h and df -i show which file system is full; make room there, or name a folder elsewhere.',
  },
  EDQUOT: {
    message: () => 'The quota of this user is used up where a file was written.',
    hint: 'quota shows it; make room, or name a folder elsewhere.',
  },
  ENOMEM: {
    message: () => 'The machine, or the limit of this process, has no more memory to give.',
    hint: 'free -h and ulimit -v show it; use fewer threads or smaller batches (runner.thread_num, runner.train_batch_size), or raise the limit.',
  },
  EAGAIN: {
    message: (limit) =>
      `No more processes or threads can be started; this user may have ${limit ?? 'a limited number'}.`,
    hint: 'Raise the limit (ulimit -u, pids.max of a container), or use fewer threads.',
    limit: 'max_user_processes',
  },
}

/** The refusal of the system that an error comes from, if it does; also of one that came from another thread as text. */
export function systemLimit(error: unknown): UserError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = codeOf(at)
    if (code === undefined) continue
    const { message, hint, limit } = REFUSALS[code]!
    const where = /'([^']+)'$/.exec(at.message)?.[1]
    const wanted = /requested buffer of size (\d+)/.exec(at.message)?.[1]
    const path = where !== undefined && /ENOSPC|EDQUOT/.test(code) ? ` (${where})` : ''
    const bytes = wanted === undefined ? '' : ` One buffer of ${sizeText(Number(wanted))} was wanted.`
    return new UserError(`${message(limit && ownLimit(limit))}${path}${bytes}`, {
      code: 'SYSTEM_LIMIT',
      hint,
      cause: error,
    })
  }
  return undefined
}

/** As V8, WebAssembly and onnxruntime say it. */
const NO_MEMORY = /Array buffer allocation failed|could not allocate memory|Failed to allocate memory|bad_alloc/

function codeOf(error: Error): string | undefined {
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException
  const named = Object.hasOwn(REFUSALS, code)
    ? code
    : (/\b(EMFILE|ENFILE|ENOSPC|EDQUOT|ENOMEM)\b/.exec(error.message)?.[1] ??
      (NO_MEMORY.test(error.message) ? 'ENOMEM' : undefined))
  // A socket or pipe that is only full says EAGAIN too.
  return named === 'EAGAIN' && !syscall.startsWith('spawn') ? undefined : named
}

/** By Node's report, which opens no file: of those there may be none to be had. */
function ownLimit(name: string): string | undefined {
  try {
    Object.assign(process.report, { excludeNetwork: true }) // its interfaces are asked for names otherwise, which may take long
    const { userLimits } = process.report.getReport() as { userLimits?: Record<string, { soft: number | string }> }
    const limit = userLimits?.[name]?.soft
    return limit === undefined ? undefined : String(limit)
  } catch {
    return undefined
  }
}
