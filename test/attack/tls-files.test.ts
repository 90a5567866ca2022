/** @file runner.tls and OARFISH_TLS with certificates of the user's own: jobs of real processes on several hosts. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientHandshake, openTls, socketTransport, type TlsKeys } from '../../src/base/net/index.ts'
import { RANK_PROGRAM } from '../collective/ranks.testing.ts'
import { cleanEnv, endOf, watched } from '../fluid/process.testing.ts'
import { type Host, type Network, networkTools, openNetwork } from '../netns/network.testing.ts'
import { startJob } from '../ps/job.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const NO_OPENSSL = spawnSync('openssl', ['version']).status !== 0
const KEY = ['-newkey', 'ed25519', '-nodes']

let folder: string
beforeAll(async () => {
  folder = await tinyFolder()
  if (NO_OPENSSL) return
  mkdirSync(join(folder, 'tls'))
  authority('ca')
  authority('other-ca')
  signed('host', 'ca', 2)
  signed('stranger', 'other-ca', 2)
  signed('old', 'ca', -1)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const openssl = (...args: readonly string[]) =>
  execFileSync('openssl', args, { cwd: join(folder, 'tls'), stdio: ['ignore', 'ignore', 'pipe'] })

function authority(name: string): void {
  openssl('req', '-x509', ...KEY, '-days', '2', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`)
}

function signed(name: string, by: string, days: number): void {
  openssl('req', ...KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
  const signer = ['-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial', '-days', String(days)]
  openssl('x509', '-req', '-in', `${name}.csr`, ...signer, '-out', `${name}.pem`)
}

const files = (name: string, ca: string) => ({
  cert: join(folder, 'tls', `${name}.pem`),
  key: join(folder, 'tls', `${name}.key`),
  ca: join(folder, 'tls', `${ca}.pem`),
})

test('tls: auto needs a token that is a secret', () => {
  const derived = { token: 'of what anybody knows', derivedToken: true }
  expect(() => openTls('auto', derived)).toThrow(/need its token, and OARFISH_JOB_TOKEN is not set/)
})

describe.skipIf(NO_OPENSSL)('a certificate', () => {
  test('that has expired is named when the process starts', () => {
    expect(() => openTls(files('old', 'ca'), { token: 'x' })).toThrow(/old\.pem was good until /)
  })

  /** As a process has them whose certificate runs out while it runs. */
  const keysOf = (name: string, ca: string): TlsKeys => {
    const { cert, key, ca: authority } = files(name, ca)
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8'), ca: readFileSync(authority, 'utf8') }
  }

  test.each([
    ['old', 'ca', /the certificate of one side has expired/],
    ['stranger', 'other-ca', /one of both certificates is not signed by the authority of the other side/],
  ])('of the other side (%s of %s) is told as what it is', async (name, ca, reason) => {
    const listener = await socketTransport.listen('127.0.0.1:0', () => undefined, { tls: keysOf(name, ca) })
    const tls = openTls(files('host', 'ca'), { token: 'x' })
    await expect(socketTransport.connect(listener.endpoint, { timeoutMs: 30_000, tls })).rejects.toThrow(reason)
    await listener.close()
  })
})

test.skipIf(NO_OPENSSL)('one that does not encrypt is told that the other side may', async () => {
  const tls = openTls(files('host', 'ca'), { token: 'x' })
  const listener = await socketTransport.listen('127.0.0.1:0', () => undefined, { tls })
  const connection = await socketTransport.connect(listener.endpoint, { timeoutMs: 30_000 })
  const identity = { jobId: 'job', token: 'x', role: 'worker', rank: 0, agreement: {} } as const
  await expect(clientHandshake(connection, 'the server', identity)).rejects.toThrow(
    'without a word: if it encrypts (runner.tls, OARFISH_TLS), this process must too',
  )
  connection.close()
  await listener.close()
})

const lacking = networkTools()
describe.skipIf(lacking !== undefined || NO_OPENSSL)('netns: certificates of the user', () => {
  let network: Network
  beforeAll(async () => {
    network = await openNetwork({ name: 'tlsfiles', hosts: 3 })
  })
  afterAll(() => network?.close())

  test('named relative to the yaml, encrypt a job with servers', async () => {
    const yaml = readFileSync(join(folder, 'config.yaml'), 'utf8')
    const keys = '  tls: { cert: tls/host.pem, key: tls/host.key, ca: tls/ca.pem }\n'
    writeFileSync(join(folder, 'tls.yaml'), yaml.replace(/^runner:\n/m, `runner:\n${keys}`))
    const job = await startJob({
      ...{ path: join(folder, 'tls.yaml'), workers: 2, servers: 1, network },
      overrides: ['runner.epochs=1', 'runner.model_save_path='],
    })
    try {
      await job.success()
      const said = job.named('server 0').events.map(({ message }) => String(message))
      expect(said.join('\n')).toMatch(/listens at .*, TLS\)/)
    } finally {
      job.kill()
    }
  })

  test('of another authority keep a worker out, which says why', async () => {
    const job = await startJob({
      ...{ path: join(folder, 'config.yaml'), workers: 1, servers: 1, network },
      overrides: ['runner.epochs=1', 'runner.model_save_path='],
      shared: { tls: files('host', 'ca') },
      own: { 'worker 0': { cluster: { tls: files('stranger', 'other-ca') } } },
    })
    try {
      expect(await job.named('worker 0').ended).toBe(1)
      const text = (name: string) => JSON.stringify(job.named(name).events)
      expect(text('worker 0')).toContain('not signed by the authority of the other side')
    } finally {
      job.kill()
    }
  })

  test('by OARFISH_TLS encrypt the meeting at a master and the ring of its ranks; who does not is told why it waits', async () => {
    const logs = mkdtempSync(join(tmpdir(), 'oarfish-tls-'))
    const [first, second] = network.hosts as [Host, Host]
    const { cert, key, ca } = files('host', 'ca')
    const launch = (host: Host, env: NodeJS.ProcessEnv) => {
      const flags = ['--master', `${first.address}:7401`, '--nnodes', '2', '--nproc_per_node', '1']
      const args = ['launch', ...flags, '--log_dir', join(logs, host.name), process.execPath, RANK_PROGRAM]
      const own = { ...cleanEnv(), OARFISH_JOB_TOKEN: 'a-token-of-this-test', ...env }
      return watched(host.spawn(process.execPath, [OARFISH, ...args, '{"work":"cases"}'], { cwd: logs, env: own }))
    }
    try {
      const tls = { OARFISH_TLS: [cert, key, ca].join(',') }
      const master = launch(first, tls)
      const plain = launch(second, {}) // it keeps waiting: the other side may yet be started anew
      await plain.said('if it encrypts (runner.tls, OARFISH_TLS), this process must too')
      plain.child.kill('SIGTERM')
      await endOf(plain)
      for (const started of [master, launch(second, tls)])
        expect(await endOf(started), started.out + started.err).toBe(0)
    } finally {
      rmSync(logs, { recursive: true, force: true })
    }
  })
})
