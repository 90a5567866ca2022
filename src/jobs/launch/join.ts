/** @file How a running job is asked for one more worker: a socket of its launcher, known from the folder of its logs, that only the same user can open. */
import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { makeOwnFolder, UserError } from '../../base/util/index.ts'
import { readJobFile } from './job-file.ts'

/** Answers with why not, or undefined: they join. */
export type JoinListener = (workers: number) => string | undefined

export interface JoinRequests {
  /** The path of the socket. */
  readonly path: string
  listen(listener: JoinListener): void
  close(): void
}

const ASKED = 'join'
const JOINS = 'joins'
const ANSWER_MS = 10_000

/** Resolves once it can be asked. */
export async function openJoins(): Promise<JoinRequests> {
  const folder = makeOwnFolder('join')
  const path = join(folder, 'socket')
  let listener: JoinListener = () => 'The job is about to start.'
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes) => {
      const isAsked = bytes.toString().trim() === ASKED
      socket.end(isAsked ? (listener(1) ?? JOINS) : 'not a request to join')
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  server.unref()
  return {
    path,
    listen: (next) => {
      listener = next
    },
    close: () => {
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Asks the launcher whose logs are there for one more worker. */
export async function askToJoin(logDir: string): Promise<void> {
  const path = readJobFile(logDir)?.joins
  if (path === undefined) throw cannotJoin(`No job whose size may change has its logs in ${logDir}.`)
  const answer = await ask(path).catch((error: Error) => {
    throw cannotJoin(`The launcher of the job in ${logDir} does not answer: ${error.message}.`)
  })
  if (answer !== JOINS) throw cannotJoin(answer)
}

function ask(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(`${ASKED}\n`))
    let answer = ''
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`nothing for ${ANSWER_MS / 1000} s`)))
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.once('error', reject).once('end', () => resolve(answer))
  })
}

const cannotJoin = (why: string) =>
  new UserError(why, {
    code: 'LAUNCH_JOIN',
    hint: 'Jobs of fleetrun --worker_num MIN:MAX take workers while they train; give --log_dir as that command had it.',
  })
