/** @file sshd on the hosts of a test network, with keys of the test's own; `ssh -F config HOST` reaches each. Needs root. */
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Host } from './network.testing.ts'

export interface SshHosts {
  /** For `ssh -F`. */
  readonly config: string
  close(): void
}

export async function openSsh(hosts: readonly Host[]): Promise<SshHosts> {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-ssh-'))
  mkdirSync('/run/sshd', { recursive: true }) // sshd's own, where it gives up its rights
  for (const name of ['host', 'client'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)])
  writeFileSync(join(folder, 'authorized'), readFileSync(join(folder, 'client.pub')), { mode: 0o600 })
  const key = readFileSync(join(folder, 'host.pub'), 'utf8').split(' ').slice(0, 2).join(' ')
  writeFileSync(join(folder, 'known'), hosts.map(({ address, name }) => `${address},${name} ${key}\n`).join(''))
  const config = join(folder, 'config')
  const names = hosts.map(({ name, address }) => `Host ${name}\n  HostName ${address}\n`).join('')
  writeFileSync(
    config,
    `${names}Host *\n  User root\n  IdentityFile ${folder}/client\n  IdentitiesOnly yes\n  UserKnownHostsFile ${folder}/known\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n`,
  )
  const children = hosts.map((host) => start(host, folder))
  await Promise.all(hosts.map(({ name }) => answering(name)))
  return {
    config,
    close: () => {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function start(host: Host, folder: string): ChildProcess {
  const file = join(folder, `sshd-${host.name}`)
  const lines = [
    ...[
      'Port 22',
      `ListenAddress ${host.address}`,
      `HostKey ${folder}/host`,
      `AuthorizedKeysFile ${folder}/authorized`,
    ],
    ...['StrictModes no', 'UsePAM no', 'PermitRootLogin yes', 'PasswordAuthentication no', `PidFile ${file}.pid`],
    ...['Subsystem sftp internal-sftp', 'MaxStartups 100', 'MaxSessions 100'],
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  return host.spawn('/usr/sbin/sshd', ['-D', '-e', '-f', file], { stdio: 'ignore' })
}

const START_MS = 15_000

/** Asked from inside the host: nobody else can reach it by this process's network. */
async function answering(name: string): Promise<void> {
  const until = Date.now() + START_MS
  const listens = () =>
    spawnSync('ip', ['netns', 'exec', name, 'sh', '-c', 'ss -ltn 2>/dev/null | grep -q ":22 "']).status === 0
  while (!listens()) {
    if (Date.now() > until) throw new Error(`sshd of ${name} did not start`)
    await new Promise((done) => setTimeout(done, 100))
  }
}
