/** @file sshd on the hosts of a test network, with keys of the test's own; `ssh -F config HOST` reaches each. Needs root. */
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Host } from './network.testing.ts'

export interface SshHosts {
  /** For `ssh -F`. */
  readonly config: string
  /** The home folder: the same path on every host, and each has its own there. */
  readonly home: string
  /** Another config, that differs in what is given here. */
  configWith(name: string, changes: { readonly key?: string; readonly known?: string }): string
  /** `address,name type key` of each host. */
  readonly known: string
  close(): void
}

export interface SshOptions {
  /** PATH of commands, by host. @default this process's */
  readonly paths?: readonly string[]
  /** Folders that are empty there, by host: the hosts share this machine's disk. */
  readonly hides?: readonly (readonly string[])[]
}

export async function openSsh(hosts: readonly Host[], { paths = [], hides = [] }: SshOptions = {}): Promise<SshHosts> {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-ssh-'))
  const home = join(folder, 'home')
  mkdirSync('/run/sshd', { recursive: true }) // sshd's own, where it gives up its rights
  mkdirSync(home)
  const keys = hosts.map((_host, i) => newKey(join(folder, `host-${i}`)))
  const client = newKey(join(folder, 'client'))
  writeFileSync(join(folder, 'authorized'), client, { mode: 0o600 })
  const known = hosts.map(({ address, name }, i) => `${address},${name} ${keys[i]}\n`).join('')
  writeFileSync(join(folder, 'known'), known)
  const names = hosts.map(({ name, address }) => `Host ${name}\n  HostName ${address}\n`).join('')
  const writeConfig = (name: string, key: string, knownFile: string) => {
    const path = join(folder, name)
    writeFileSync(
      path,
      `${names}Host *\n  User root\n  IdentityFile ${key}\n  IdentitiesOnly yes\n  UserKnownHostsFile ${knownFile}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n`,
    )
    return path
  }
  const children = hosts.map((host, i) =>
    start(host, i, folder, { path: paths[i] ?? process.env['PATH']!, hidden: hides[i] ?? [] }),
  )
  await Promise.all(hosts.map(({ name }) => answering(name)))
  return {
    config: writeConfig('config', join(folder, 'client'), join(folder, 'known')),
    home,
    known,
    configWith: (name, { key = join(folder, 'client'), known: other = known }) => {
      writeFileSync(join(folder, `known-${name}`), other)
      return writeConfig(`config-${name}`, key, join(folder, `known-${name}`))
    },
    close: () => {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Makes a pair of keys and returns the public one as `type key`. */
export function newKey(path: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path])
  return readFileSync(`${path}.pub`, 'utf8').split(' ').slice(0, 2).join(' ')
}

function start(
  host: Host,
  index: number,
  folder: string,
  { path, hidden }: { readonly path: string; readonly hidden: readonly string[] },
): ChildProcess {
  const file = join(folder, `sshd-${host.name}`)
  const lines = [
    ...['Port 22', `ListenAddress ${host.address}`, `HostKey ${folder}/host-${index}`],
    ...[`AuthorizedKeysFile ${folder}/authorized`, `SetEnv HOME=${folder}/home TMPDIR=${folder}/home PATH=${path}`],
    ...['StrictModes no', 'UsePAM no', 'PermitRootLogin yes', 'PasswordAuthentication no', `PidFile ${file}.pid`],
    ...['Subsystem sftp internal-sftp', 'MaxStartups 100', 'MaxSessions 100'],
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  // The hosts share this machine's disk; what lies in the home folder is a host's own.
  const empty = [`${folder}/home`, ...hidden].map((each) => `mount -t tmpfs tmpfs ${each}`).join(' && ')
  const script = `${empty} && exec /usr/sbin/sshd -D -e -f ${file}`
  return host.spawn('sh', ['-c', script], { stdio: 'ignore' })
}

const START_MS = 90_000

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
