/** @file HTTPS of the job server, of `oarfish serve` and of the dashboard, typed as the guide types it. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addGroup, addUser } from '../../src/jobs/server/index.ts'
import { type Exported, exported } from '../export/exported.testing.ts'
import { oarfish } from '../oarfish.testing.ts'

const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const lacking = spawnSync('openssl', ['version']).status !== 0

describe.skipIf(lacking)('HTTPS', () => {
  let folder: string
  let made: Exported
  const files = () => ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')]
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oarfish-https-'))
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
        ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', 'key.pem', '-out', 'cert.pem'],
      ],
      { cwd: folder, stdio: 'ignore' },
    )
    made = await exported('tiny')
  })
  afterAll(() => {
    for (const each of [folder, made?.folder]) if (each) rmSync(each, { recursive: true, force: true })
  })

  /** Starts a command that serves; resolves to its address. */
  async function serving(args: readonly string[]): Promise<{ child: ChildProcess; url: string; said: () => string }> {
    const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    return await new Promise((resolve, reject) => {
      child.once('close', () => reject(new Error(said)))
      for (const stream of [child.stdout!, child.stderr!])
        stream.setEncoding('utf8').on('data', (piece: string) => {
          said += piece
          const url = /https:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0]
          if (url && said.endsWith('\n')) resolve({ child, url, said: () => said })
        })
    })
  }

  const get = async (url: string) =>
    await new Promise<string>((resolve, reject) => {
      const ca = readFileSync(join(folder, 'cert.pem'))
      request(url, { ca }, (response) => text(response).then(resolve, reject))
        .on('error', reject)
        .end()
    })

  test('oarfish serve answers over it, and not without', async () => {
    const { child, url } = await serving(['serve', '--model', made.out, '--port', '0', ...files()])
    try {
      expect(await get(`${url}/healthz`)).toContain('ok')
      await expect(fetch(url.replace('https', 'http'), { signal: AbortSignal.timeout(30_000) })).rejects.toThrow()
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('the dashboard shows runs over it, to who has its token', async () => {
    const flags = ['--port', '0', '--token', ...files()]
    const { child, url, said } = await serving(['dashboard', folder, ...flags])
    try {
      expect(await get(`${url}/api/runs`)).toContain('with its token')
      const [, token] = /token=(\S+)/.exec(said())!
      expect(await get(`${url}/?token=${token}`)).toContain('<html')
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('the job server takes jobs over it', async () => {
    const dir = join(folder, 'server')
    mkdirSync(dir)
    await addGroup(join(dir, 'accounts.json'), 'g', { quota: 1, priorities: ['normal'] })
    const { ak, sk } = await addUser(join(dir, 'accounts.json'), { name: 'me', groups: ['g'] })
    const { child, url } = await serving(['cloud', 'serve', '--dir', dir, '--port', '0', ...files()])
    try {
      const env = { PADDLECLOUD_SERVER: url, OARFISH_AK: ak, OARFISH_SK: sk }
      const trusted = { ...env, NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') }
      const listed = await oarfish(['jobs'], folder, undefined, trusted)
      expect([listed.code, listed.err]).toEqual([0, ''])
      const other = await oarfish(['jobs'], folder, undefined, env)
      expect(other.out + other.err).toMatch(/cannot be reached: self-signed certificate/)
    } finally {
      child.kill('SIGKILL')
    }
  })

  test.each([
    [['--tls-cert', 'cert.pem'], /--tls-cert and --tls-key belong together/],
    [['--tls-cert', 'cert.pem', '--tls-key', 'nowhere.pem'], /--tls-key: nowhere\.pem cannot be read/],
    [['--tls-cert', 'cert.pem', '--tls-key', 'other.pem'], /cert\.pem and other\.pem cannot be used/],
  ])('with %j is refused in words', async (flags, message) => {
    writeFileSync(join(folder, 'other.pem'), 'no key')
    const { code, err } = await oarfish(['cloud', 'serve', '--dir', join(folder, 'x'), ...flags], folder)
    expect([code, err]).toEqual([2, expect.stringMatching(message)])
  })
})
