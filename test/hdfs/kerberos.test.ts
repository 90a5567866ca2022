/**
 * @file HDFS that asks for Kerberos, with a real KDC: by a door that takes SPNEGO as GSSAPI does, and, under `npm run e2e:hdfs`, by Hadoop's own name
 * node.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { carriedUgi, type RemoteFiles, remoteFiles } from '../../src/base/fs/index.ts'
import { kerberosTools, openRealm, type Realm, untilReady } from './kerberos.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const { OARFISH_HDFS_LIB } = process.env
const lacking = kerberosTools()
if (lacking) console.warn(`HDFS with Kerberos is skipped: ${lacking}`)
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

describe.skipIf(lacking)(`HDFS with Kerberos ${lacking ?? ''}`, () => {
  let realm: Realm
  let keytab: string
  let folder: string
  const children: ChildProcess[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kerberos-test-'))
    realm = await openRealm()
    await untilReady(realm)
    keytab = realm.keytab('HTTP/localhost', 'hdfs/localhost')
    for (const [name, value] of Object.entries(realm.env)) vi.stubEnv(name, value)
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    vi.unstubAllEnvs()
    realm?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts a program; `found` is what it prints first that matches. */
  async function started(program: string, words: readonly string[], env: object, wanted: RegExp) {
    const child = spawn(program, words, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
    children.push(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (text += piece))
    await vi.waitFor(() => expect(text).toMatch(wanted), { timeout: 150_000, interval: 200 })
    return { found: wanted.exec(text)!, text: () => text }
  }

  describe('a door that takes SPNEGO', () => {
    let url: string
    let said: () => string
    let files: RemoteFiles
    beforeAll(async () => {
      const { found, text } = await started(
        '/usr/bin/python3',
        [at('test/hdfs/spnego.py')],
        { KRB5_KTNAME: keytab },
        /port (\d+)/,
      )
      ;[url, said] = [`hdfs://localhost:${found[1]}`, text]
      files = remoteFiles(url, { ugi: 'kerberos' })
    })
    afterEach(() => void vi.stubEnv('KRB5CCNAME', realm.env['KRB5CCNAME']!))

    test('without a ticket says kinit; for a host that has no principal says which was asked for', async () => {
      vi.stubEnv('KRB5CCNAME', join(folder, 'nothing'))
      await expect(files.list('/')).rejects.toMatchObject({ code: 'FS_KERBEROS', hint: 'Get one: kinit USER@REALM' })
      vi.stubEnv('KRB5CCNAME', realm.env['KRB5CCNAME']!)
      const byAddress = remoteFiles(url.replace('localhost', '127.0.0.1'), { ugi: 'kerberos' })
      await expect(byAddress.list('/')).rejects.toMatchObject({
        ...{ code: 'FS_KERBEROS', hint: expect.stringContaining('HTTP/127.0.0.1 was asked for') },
      })
    })

    test('gives one token to many requests, and another when that one is worth nothing', async () => {
      const tokens = () => said().match(/token for oarfish@OARFISH\.TEST/g)?.length ?? 0
      const all = await Promise.all([files.list('/'), files.list('/'), remoteFiles(url, { ugi: 'kerberos' }).list('/')])
      expect(all).toEqual(Array(3).fill([{ path: 'part-0', bytes: 5 }]))
      await vi.waitFor(() => expect(tokens()).toBe(1))
      await fetch(`${url.replace('hdfs', 'http')}/webhdfs/v1/?op=FORGET`)
      expect(await files.list('/')).toEqual([{ path: 'part-0', bytes: 5 }])
      await vi.waitFor(() => expect(tokens()).toBe(2))
      // A job takes it to nodes where its user has no ticket.
      const carried = await carriedUgi(`${url}/user`, 'kerberos')
      expect(carried).toMatch(/^token:\w+$/)
      expect(await remoteFiles(url, { ugi: carried }).list('/')).toEqual([{ path: 'part-0', bytes: 5 }])
      expect(await carriedUgi(url, 'oarfish,password')).toBe('oarfish,password')
      await expect(remoteFiles(url, { ugi: 'oarfish,password' }).list('/')).rejects.toMatchObject({
        code: 'FS_FORBIDDEN',
      })
    })

    test('a machine without curl, and one whose curl knows no GSSAPI, is told so', async () => {
      const other = (name: string) => remoteFiles(url, { ugi: 'kerberos' }).list(name)
      await fetch(`${url.replace('hdfs', 'http')}/webhdfs/v1/?op=FORGET`)
      const path = process.env['PATH']!
      vi.stubEnv('PATH', folder)
      try {
        await expect(other('/')).rejects.toMatchObject({ code: 'FS_KERBEROS', message: /^There is no curl/ })
        // What curl does with an option that it was not built for: exit code 2.
        symlinkSync('/bin/grep', join(folder, 'curl'))
        await expect(other('/')).rejects.toMatchObject({ code: 'FS_KERBEROS', message: /built without GSSAPI/ })
      } finally {
        vi.stubEnv('PATH', path)
      }
    })
  })

  test.skipIf(!OARFISH_HDFS_LIB)(
    "Hadoop's own: files are written, listed and read with the user's ticket",
    async () => {
      const java = ['-Xmx512m', '--add-opens=java.base/java.lang=ALL-UNNAMED', '-Djava.security.krb5.conf=CONF']
      const words = java.map((word) => word.replace('CONF', realm.env['KRB5_CONFIG']!))
      const program = ['-cp', `${OARFISH_HDFS_LIB}/*`, at('scripts/hdfs/MiniHdfs.java'), join(folder, 'hdfs'), keytab]
      const { found } = await started('java', [...words, ...program], {}, /hdfs:\/\/\S+|Exception.*\n.*/)
      expect(found[0]).toMatch(/^hdfs:/)
      const url = found[0].replace('127.0.0.1', 'localhost')
      const files = remoteFiles(`${url}/user/oarfish`, { ugi: 'kerberos' })
      await files.write('data/part-0', content())
      expect(await files.list('data')).toEqual([{ path: 'part-0', bytes: 12 }])
      const pieces: Uint8Array[] = []
      for await (const piece of files.read('data/part-0')) pieces.push(piece)
      expect(Buffer.concat(pieces).toString()).toBe('one\ntwo\nsix\n')
      await expect(remoteFiles(url, { ugi: 'oarfish,unused' }).list('/user')).rejects.toMatchObject({
        code: 'FS_FORBIDDEN',
      })
    },
  )
})

async function* content() {
  yield Buffer.from('one\ntwo\n')
  yield Buffer.from('six\n')
}
