/** @file The way to one host: the system's ssh with the user's own configuration, one connection for all that is run there. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Env } from '../../base/env/index.ts'
import { quoted } from '../../base/util/index.ts'
import { connectionLost, sshError } from './errors.ts'
import type { SshHost } from './host.ts'

export interface SshOptions {
  /** The words that run ssh. */
  readonly ssh: readonly string[]
  readonly env: Env
  /** A short path: sockets of the connections lie there. */
  readonly folder: string
  readonly connectSeconds: number
}

/** The words that run ssh: OARFISH_SSH may hold others, such as `ssh -F other_config`. */
export const sshWords = (env: Env): readonly string[] =>
  (env['OARFISH_SSH'] ?? 'ssh').split(/\s+/).filter((word) => word !== '')

export interface Channel {
  readonly host: SshHost
  /** Starts a script of sh there; its streams are pipes. */
  spawn(script: string): ChildProcess
  /** Runs one to its end. */
  run(script: string, options?: { readonly input?: NodeJS.ReadableStream }): Promise<Ran>
  /** Settles when the connection is gone without having been closed. */
  readonly lost: Promise<Error>
  close(): Promise<void>
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

const READY = 'oarfish-ready'
const CLOSE_MS = 2000
const ALIVE_SECONDS = 5
const ALIVE_COUNT = 3

/** Connects, or throws why not and what to do about it. */
export async function openChannel(host: SshHost, name: string, options: SshOptions): Promise<Channel> {
  const socket = `${options.folder}/${name}`
  // Ends by itself when this process is gone, however it ended: then its input ends.
  const master = start(
    host,
    options,
    [`ControlMaster=yes`, `ControlPath=${socket}`],
    `echo ${READY}; exec cat >/dev/null`,
  )
  const said = collect(master.stderr!)
  const ended = new Promise<void>((done) => {
    master.once('close', () => done())
  })
  await connected(master, ended, options, () => sshError(host, said.text()))
  let closing = false
  const session = (script: string) => start(host, options, ['ControlMaster=no', `ControlPath=${socket}`], script)
  return {
    host,
    spawn: session,
    run: async (script, { input } = {}) => await finished(session(script), input),
    lost: new Promise((lost) => {
      void ended.then(() => {
        if (!closing) lost(connectionLost(host, said.text()))
      })
    }),
    close: async () => {
      closing = true
      master.stdin!.end()
      const timer = setTimeout(() => master.kill('SIGKILL'), CLOSE_MS)
      await ended.finally(() => clearTimeout(timer))
    },
  }
}

function start(
  { destination, port }: SshHost,
  options: SshOptions,
  own: readonly string[],
  script: string,
): ChildProcess {
  const settings = [
    ...['BatchMode=yes', 'StrictHostKeyChecking=yes', 'ControlPersist=no', 'ClearAllForwardings=yes', 'LogLevel=ERROR'],
    `ConnectTimeout=${options.connectSeconds}`,
    ...[`ServerAliveInterval=${ALIVE_SECONDS}`, `ServerAliveCountMax=${ALIVE_COUNT}`],
    ...own,
  ]
  const [program, ...words] = options.ssh as [string, ...string[]]
  const flags = [...settings.flatMap((setting) => ['-o', setting]), ...(port === undefined ? [] : ['-p', String(port)])]
  // The login shell of the user may be any; the script is one of sh.
  const child = spawn(program, [...words, '-T', ...flags, destination, `exec sh -c ${quoted(script)}`], {
    env: { ...options.env, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl+C is for this process alone, which ends the job in good order over these connections.
    detached: true,
  })
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined)
  return child
}

async function connected(
  master: ChildProcess,
  ended: Promise<void>,
  { connectSeconds, ssh }: SshOptions,
  failure: () => Error,
): Promise<void> {
  // ssh's own limit does not count what comes after the connection: a server that accepts and then says nothing.
  const timer = setTimeout(() => master.kill('SIGKILL'), (connectSeconds + 5) * 1000)
  try {
    const ready = new Promise<boolean>((done, fail) => {
      const out = collect(master.stdout!, (text) => text.includes(READY) && done(true))
      void ended.then(() => done(out.text().includes(READY)))
      master.once('error', (cause) => fail(new Error(`${ssh[0]} could not be started: ${cause.message}`, { cause })))
    })
    if (!(await ready)) throw failure()
  } finally {
    clearTimeout(timer)
  }
}

async function finished(child: ChildProcess, input: NodeJS.ReadableStream | undefined): Promise<Ran> {
  const [out, err] = [collect(child.stdout!), collect(child.stderr!)]
  if (input) input.pipe(child.stdin!)
  else child.stdin!.end()
  const code = await new Promise<number>((done) => {
    child.once('error', () => done(255))
    child.once('close', (exit) => done(exit ?? 255))
  })
  return { code, out: out.text(), err: err.text() }
}

function collect(stream: NodeJS.ReadableStream, onText: (all: string) => unknown = () => undefined) {
  let all = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    all += text
    onText(all)
  })
  return { text: () => all }
}
