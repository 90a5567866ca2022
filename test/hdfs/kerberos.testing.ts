/** @file A realm of Kerberos on this machine: Debian's KDC in a folder of its own, with a user who has a ticket and services with keys. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { installed } from '../../scripts/apt.mjs'
import { freePort } from '../ports.testing.ts'

export const REALM = 'OARFISH.TEST'

/** Why there can be none here; undefined: there can. */
export function kerberosTools(): string | undefined {
  const missing = installed({
    '/usr/sbin/krb5kdc': 'krb5-kdc',
    '/usr/sbin/kadmin.local': 'krb5-admin-server',
    kinit: 'krb5-user',
    curl: 'curl',
    '/usr/lib/python3/dist-packages/gssapi': 'python3-gssapi',
  })
  return missing.length === 0 ? undefined : `install ${missing.join(', ')}`
}

export interface Realm {
  /** KRB5_CONFIG, and KRB5CCNAME: where tickets of its user are. */
  readonly env: Readonly<Record<string, string>>
  /** The keys of a service, such as HTTP/localhost: a keytab. */
  keytab(...principals: readonly string[]): string
  /** Gets a ticket for the user oarfish. */
  kinit(): void
  close(): void
}

export async function openRealm(): Promise<Realm> {
  const folder = mkdtempSync(join(tmpdir(), 'kerberos-'))
  const port = await freePort()
  const env = {
    KRB5_CONFIG: join(folder, 'krb5.conf'),
    KRB5_KDC_PROFILE: join(folder, 'kdc.conf'),
    KRB5CCNAME: join(folder, 'tickets'),
  }
  writeFileSync(env.KRB5_CONFIG, clientConfig(port))
  writeFileSync(env.KRB5_KDC_PROFILE, serverConfig(folder, port))
  mkdirSync(join(folder, 'db'))
  const run = (program: string, ...words: readonly string[]) =>
    execFileSync(program, words, { env: { ...process.env, ...env }, stdio: 'pipe', encoding: 'utf8' })
  run('/usr/sbin/kdb5_util', 'create', '-s', '-r', REALM, '-P', 'master')
  const admin = (query: string) => run('/usr/sbin/kadmin.local', '-r', REALM, '-q', query)
  const kdc: ChildProcess = spawn('/usr/sbin/krb5kdc', ['-n'], { env: { ...process.env, ...env }, stdio: 'ignore' })
  admin('addprinc -pw secret oarfish')
  const user = join(folder, 'user.keytab')
  admin(`ktadd -norandkey -k ${user} oarfish`)
  return {
    env: { KRB5_CONFIG: env.KRB5_CONFIG, KRB5CCNAME: env.KRB5CCNAME },
    keytab: (...principals) => {
      const file = join(folder, `${principals.length}-${Math.random().toString(36).slice(2)}.keytab`)
      for (const principal of principals) {
        admin(`addprinc -randkey ${principal}`)
        admin(`ktadd -k ${file} ${principal}`)
      }
      return file
    },
    kinit: () => {
      run('kinit', '-k', '-t', user, `oarfish@${REALM}`)
    },
    close: () => {
      kdc.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const clientConfig = (port: number) => `[libdefaults]
  default_realm = ${REALM}
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  ${REALM} = {
    kdc = 127.0.0.1:${port}
  }
[domain_realm]
  localhost = ${REALM}
`

const serverConfig = (folder: string, port: number) => `[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:${port}
[realms]
  ${REALM} = {
    database_name = ${folder}/db/principal
    key_stash_file = ${folder}/db/stash
    acl_file = ${folder}/db/acl
  }
[logging]
  kdc = FILE:${folder}/kdc.log
`

/** Waits until it answers: a ticket is what it gives. */
export async function untilReady({ kinit }: Realm): Promise<void> {
  await vi.waitFor(() => kinit(), { timeout: 30_000, interval: 200 })
}
