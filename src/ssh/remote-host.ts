/** @file A host as the launcher sees it: asked by requests, heard by notes. */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fromPlainError, isUserError, UserError } from '../util/index.ts'
import { type Channel, quote } from './channel.ts'
import { connectionLost } from './errors.ts'
import type { SshHost } from './host.ts'
import type { AnswerOf, FromHost, Hello, Note, OperationName, RequestOf } from './protocol.ts'

export interface RemoteHost {
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
  const { host } = channel
  const child = channel.spawn(SERVICE)
  const waiting = new Map<number, { done: (answer: never) => void; fail: (error: Error) => void }>()
  const listeners: ((note: Note) => void)[] = []
  let next = 0
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-4000)
  })
  const ended = new Promise<Error>((done) => {
    child.once('close', () => done(connectionLost(host, said)))
  })
  const lost = Promise.race([channel.lost, ended])
  void lost.then((error) => {
    for (const { fail } of waiting.values()) fail(error)
    waiting.clear()
  })

  const greeted = new Promise<Hello | Lacking | undefined>((done) => {
    const lines = createInterface({ input: child.stdout! })
    lines.on('line', (line) => {
      const message = parse(line)
      if (!message) return
      if ('hello' in message) done(message.hello)
      else if ('lacks' in message) done(message)
      else if ('note' in message) for (const listener of listeners) listener(message.note)
      else {
        const { done: resolve, fail } = waiting.get(message.id)!
        waiting.delete(message.id)
        if ('error' in message) fail(named(host, fromPlainError(message.error)))
        else resolve(message.answer as never)
      }
    })
    void ended.then(() => done(undefined))
  })
  const greeting = await greeted
  // One that does not know the command is another version; which one, it says itself.
  const hello = greeting ?? {
    lacks: 'version',
    found: (await channel.run(`${PATH}\noarfish --version`)).out.trim() || said,
  }
  if ('lacks' in hello) return hello
  if (hello.version !== version) {
    child.stdin!.end()
    return { lacks: 'version', found: hello.version }
  }
  return {
    host,
    hello,
    channel,
    lost,
    spawn: (command) => channel.spawn(`${PATH}\nexec ${command.map(quote).join(' ')}`),
    close: () => void child.stdin!.end(),
    onNote: (listener) => void listeners.push(listener),
    ask: (name, request) =>
      new Promise((done, fail) => {
        const id = next++
        waiting.set(id, { done, fail })
        child.stdin!.write(`${JSON.stringify({ id, name, request })}\n`)
        void lost.then(fail)
      }),
  }
}

/** A login shell may print lines of its own. */
function parse(line: string): FromHost | Lacking | undefined {
  try {
    const message = JSON.parse(line) as FromHost | Lacking
    return typeof message === 'object' ? message : undefined
  } catch {
    return undefined
  }
}

function named(host: SshHost, error: Error): Error {
  if (!isUserError(error)) return new Error(`${host.name}: ${error.message}`, { cause: error })
  const { code, hint } = error
  return new UserError(`${host.name}: ${error.message}`, { code, ...(hint !== undefined && { hint }), cause: error })
}
