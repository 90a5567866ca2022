/** @file One who knows the token of a job, and what it may not do even so; what runner.tls covers besides the main port of a server. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Connection, clientHandshake, openTls, Peer, socketTransport } from '../../src/base/net/index.ts'
import { METHODS } from '../../src/training/ps/protocol.ts'
import { LANES } from '../../src/training/ps/shard-threads.ts'
import { endOf, type Started } from '../fluid/process.testing.ts'
import { oarfish } from '../oarfish.testing.ts'
import { freePort } from '../ports.testing.ts'
import { type Job, startJob, training } from '../ps/job.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { openWorkspace, start } from '../trainer/job.testing.ts'
import { attack } from './attack.testing.ts'

const LONG = ['runner.epochs=100000', 'runner.print_interval=1', 'runner.model_save_path=']
const TOKEN = 'a-token-of-this-test'
const ESCAPE = '\u001b[2J'

describe('a job with runner.tls: auto and several threads a server', () => {
  let folder: string
  let job: Job
  let server: string
  const tls = openTls('auto', { token: TOKEN })
  beforeAll(async () => {
    folder = await tinyFolder()
    const overrides = [...LONG, 'runner.sync_mode=async', 'runner.server_threads=2', 'runner.tls=auto']
    const path = join(folder, 'config.yaml')
    job = await startJob({ path, workers: 1, servers: 1, overrides, shared: { token: TOKEN } })
    server = job.cluster.servers[0]!
    await training(job)
  })
  afterAll(async () => {
    job?.kill()
    await rm(folder, { recursive: true, force: true })
  })

  const batches = () => job.named('worker 0').events.filter(({ kind }) => kind === 'batch').length
  const warnings = () => job.named('server 0').events.filter(({ kind }) => kind === 'warning')
  const trainsOn = async () => {
    const before = batches()
    await expect.poll(batches, { timeout: 60_000 }).toBeGreaterThan(before + 1)
    for (const { name, child } of job.processes) expect(child.exitCode, name).toBe(null)
  }
  const observer = { jobId: '', token: TOKEN, role: 'observer', rank: 0, agreement: {} } as const
  const connected = () => socketTransport.connect(server, { timeoutMs: 30_000, tls })
  const closed = (connection: Connection) =>
    new Promise<void>((resolve) => connection.listen({ frame: () => undefined, closed: () => resolve() }))

  test.each(['pull', 'push', 'join', 'leave', 'dense', 'loadDense', 'load', 'reset', 'allGather'] as const)(
    'cuts off an observer that asks for %s, and trains on',
    async (method) => {
      const told = warnings().length
      const connection = await connected()
      await clientHandshake(connection, 'the server', observer)
      const peer = new Peer(connection, { who: 'the server' })
      const asked = peer.request(METHODS[method], [Buffer.alloc(64)], { timeoutMs: 30_000, what: method })
      await expect(asked).rejects.toThrow(/the server .*(gone|closed|cut off|failed)|gives up/)
      // One line a second at most: that of the last one may hold this one's.
      await expect.poll(() => warnings().length, { timeout: 30_000 }).toBeGreaterThanOrEqual(Math.max(1, told))
      expect(JSON.stringify(warnings())).toMatch(/observer \S+ .*said what it may not say \(a observer asks for method/)
      expect(JSON.stringify(warnings())).not.toContain('stops now')
      await trainsOn()
    },
  )

  /** Until a line says so: there is one a second at most. */
  const toldOf = (words: string, say: () => Promise<void>) =>
    expect
      .poll(() => say().then(() => JSON.stringify(warnings())), { timeout: 60_000, interval: 1000 })
      .toContain(words)

  test('cuts off a hello of more than 64 KB before it has come, and says why', async () => {
    await toldOf('a frame of 65537 bytes is over the limit of 65536', async () => {
      const connection = await connected()
      const over = closed(connection)
      connection.send({ type: 'hello', method: 0, id: 0 }, [Buffer.alloc(64 * 1024 + 1)])
      await over
    })
    await trainsOn()
  })

  test('prints nothing of another process that would move the cursor', async () => {
    await toldOf('belongs to job', async () => {
      const connection = await connected()
      const other = { ...observer, role: 'worker', jobId: ESCAPE } as const
      await expect(clientHandshake(connection, 'the server', other)).rejects.toThrow(/belongs to job/)
      connection.close()
    })
    for (const { message } of warnings()) expect(message).not.toContain('\u001b')
  })

  test('shows itself to oarfish inspect --tls auto, and says without it that it encrypts', async () => {
    const look = (...args: string[]) =>
      oarfish(['inspect', '--server', server, '--token', TOKEN, ...args], folder).then(({ code, out, err }) => [
        code,
        out + err,
      ])
    expect(await look('--tls', 'auto')).toEqual([0, expect.stringContaining('server[0], mode async')])
    expect(await look()).toEqual([2, expect.stringMatching(/encrypts \(runner\.tls, OARFISH_TLS\)/)])
    expect(await look('--tls', 'yes')).toEqual([2, expect.stringContaining('--tls: expected auto, or CERT.pem')])
  })

  test('says nothing to a stranger at the ports of its threads either', async () => {
    const connection = await connected()
    const { facts } = await clientHandshake(connection, 'the server', observer)
    connection.close()
    const lanes = JSON.parse(facts[LANES]!) as { endpoint: string }[]
    expect(lanes.length).toBeGreaterThan(0)
    for (const { endpoint } of lanes) expect((await attack('listen', endpoint)).heard.trim()).toBe('')
    await trainsOn()
  })
})

test('oarfish pserver with OARFISH_TLS=auto says nothing to a stranger, and trains with one that has the token', async () => {
  const workspace = openWorkspace()
  const port = await freePort()
  const env = { OARFISH_TLS: 'auto', OARFISH_JOB_TOKEN: TOKEN }
  const begun: Started[] = []
  const begin = (...args: Parameters<typeof start>) => {
    begun.push(start(...args))
    return begun.at(-1)!
  }
  try {
    const server = begin('pserver', [`--port=${port}`, '--nics=lo', '--log_dir=log/s'], workspace.folder, env)
    await server.said('waits for its trainers at')
    expect((await attack('listen', `127.0.0.1:${port}`)).heard.trim()).toBe('')
    const options = ['--config_args=size=8,batch_size=240', '--num_passes=1', `--pservers=127.0.0.1:${port}`]
    const trainer = begin('trainer', [...options, '--log_dir=log/t'], workspace.folder, env)
    expect([await endOf(trainer), await endOf(server)], trainer.err + server.err).toEqual([0, 0])
  } finally {
    for (const { child } of begun) child.kill('SIGKILL')
    workspace.remove()
  }
})
