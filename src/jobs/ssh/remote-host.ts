/** @file A host as the launcher sees it: asked by requests, heard by notes. */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { readJson } from '../../base/net/index.ts'
import { fromPlainError, isUserError, quoted, UserError } from '../../base/util/index.ts'
import type { Channel } from './channel.ts'
import { connectionLost } from './errors.ts'
import type { SshHost } from './host.ts'
import { ANSWERS, type HostLine, readHostLine } from './messages.ts'
import type { AnswerOf, Hello, Note, OperationName, RequestOf } from './protocol.ts'

export interface RemoteHost {
  readonly kind: 'host'
  readonly host: SshHost
  readonly hello: Hello
  readonly channel: Channel
  /** Its answer; an error of the host's names the host. */
  ask<K extends OperationName>(name: K, request: RequestOf<K>): Promise<AnswerOf<K>>
  /** Calls the listener at each note from now on. */
  onNote(listener: (note: Note) => void): void
  /** Starts a command on it; its streams are pipes. */
  spawn(command: readonly string[]): ChildProcess
  /** Settles when the host is gone without having been closed. */
  readonly lost: Promise<Error>
  /** Ends the service; what it started goes on. */
  close(): void
}

/** Why a host has no service of this version: what it lacks, or the version it has instead. */
export interface Lacking {
  readonly kind: 'lacking'
  readonly lacks: 'node' | 'oarfish' | 'version'
  readonly found: string
}

// Where --install puts it leads the PATH: what is there was shipped for this very purpose.
const PATH = 'PATH="$HOME/.oarfish/bin:$PATH"; export PATH'
const SERVICE = `${PATH}
command -v node >/dev/null 2>&1 || { echo '{"lacks":"node","found":""}'; exit 0; }
command -v oarfish >/dev/null 2>&1 || { echo '{"lacks":"oarfish","found":""}'; exit 0; }
exec oarfish cluster-host`

/** Starts the service of a host. */
export async function openRemoteHost(channel: Channel, version: string): Promise<RemoteHost | Lacking> {
  const { greeting, said, ...service } = startService(channel)
  const first = await greeting
  // One that does not know the command is another version; which one, it says itself.
  if (!first) {
    const { out } = await channel.run(`${PATH}\noarfish --version`)
    return { kind: 'lacking', lacks: 'version', found: out.trim() || said() }
  }
  const { hello, lacks = 'version', found = '' } = first
  if (!hello) return { kind: 'lacking', lacks, found }
  if (hello.version !== version) {
    service.close()
    return { kind: 'lacking', lacks, found: hello.version }
  }
  return {
    kind: 'host',
    host: channel.host,
    hello,
    channel,
    spawn: (command) => channel.spawn(`${PATH}\nexec ${command.map(quoted).join(' ')}`),
    ...service,
  }
}

/** `greeting` is the first thing it says; undefined where it ends without. */
function startService(channel: Channel) {
  const child = channel.spawn(SERVICE)
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-4000)
  })
  const ended = new Promise<Error>((done) => {
    child.once('close', () => done(connectionLost(channel.host, said)))
  })
  const lost = Promise.race([channel.lost, ended])
  const waiting: Waiting[] = []
  const listeners: ((note: Note) => void)[] = []
  const greeting = new Promise<HostLine | undefined>((done) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const message = parse(line)
      if (message?.hello || message?.lacks) done(message)
      else if (message?.note) for (const listener of listeners) listener(message.note)
      else if (message?.id !== undefined) settle(channel.host, waiting[message.id], message)
    })
    void ended.then(() => done(undefined))
  })
  const ask: RemoteHost['ask'] = (name, request) =>
    new Promise((done, fail) => {
      const id = waiting.push({ done: (answer) => done(ANSWERS[name](answer, name) as never), fail }) - 1
      child.stdin!.write(`${JSON.stringify({ id, name, request })}\n`)
      void lost.then(fail)
    })
  const onNote = (listener: (note: Note) => void) => void listeners.push(listener)
  return { greeting, said: () => said, lost, ask, onNote, close: () => void child.stdin!.end() }
}

interface Waiting {
  /** Throws when the answer is none to what was asked. */
  readonly done: (answer: unknown) => void
  readonly fail: (error: Error) => void
}

function settle(host: SshHost, waiting: Waiting | undefined, { answer, error }: HostLine): void {
  // Nobody has asked, so nobody waits.
  if (!waiting) return
  try {
    if (error) waiting.fail(named(host, fromPlainError(error)))
    else waiting.done(answer)
  } catch (problem) {
    waiting.fail(named(host, problem as Error))
  }
}

/** A login shell may print lines of its own. */
function parse(line: string): HostLine | undefined {
  try {
    return readJson(Buffer.from(line), 'line', readHostLine)
  } catch {
    return undefined
  }
}

function named(host: SshHost, error: Error): Error {
  if (!isUserError(error)) return new Error(`${host.name}: ${error.message}`, { cause: error })
  const { code, hint } = error
  return new UserError(`${host.name}: ${error.message}`, { code, hint, cause: error })
}
