/**
 * @file Hosts of a test: each is a network namespace with an address, a name and a /tmp of its own, joined by a line that loses
 * packets and is slow. Needs root; `networkTools` says why where it cannot be had.
 */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export interface NetworkOptions {
  /** Begins the names of the namespaces. */
  readonly name: string
  readonly hosts: number
  /** Share of packets that each host loses of what comes in. @default 0 */
  readonly lossPercent?: number
  /** How much later bytes arrive, each way. @default 0 */
  readonly delayMs?: number
}

export interface Host {
  readonly name: string
  readonly address: string
  /** Starts a program on this host; the child is the program itself. */
  spawn(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess
  /** From now on nothing comes in or goes out, and nobody is told. */
  unplug(): void
  /** Takes that back. */
  replug(): void
}

export interface Network {
  readonly hosts: readonly Host[]
  /** Packets lost so far. */
  lost(): number
  /** Bytes that all hosts have sent so far. */
  sentBytes(): number
  /** Kills what still runs on the hosts, and removes them. */
  close(): void
}

/** Why there can be no network here; undefined: there can. Installs what is missing where it may. */
export function networkTools(): string | undefined {
  const { status, stderr } = spawnSync(process.execPath, [file('../../scripts/netns-tools.mjs')], { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim()
}

const RELAY_PORT = 9

export async function openNetwork({
  name,
  hosts: count,
  lossPercent = 0,
  delayMs = 0,
}: NetworkOptions): Promise<Network> {
  // Namespaces are the machine's: another run of the same tests may be under way.
  const own = `${name}-${process.pid}`
  const line = `${own}-line`
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-netns-'))
  const spaces = [line, ...Array.from({ length: count }, (_, i) => `${own}-${i}`)]
  const close = () => {
    for (const space of spaces) removeSpace(space)
    rmSync(folder, { recursive: true, force: true })
  }
  for (const space of leftBehind(name)) removeSpace(space)
  try {
    nameHosts(spaces)
    addSpace(line)
    const hosts = spaces.slice(1).map((space, i) => addHost(space, line, i, folder))
    ip(line, 'sysctl', '-qw', 'net.ipv4.ip_forward=1')
    for (const space of spaces) if (lossPercent > 0) rules(space, lossRules(lossPercent))
    if (delayMs > 0) await startRelay(line, delayMs)
    return {
      ...{ hosts, close },
      lost: () => spaces.reduce((sum, space) => sum + lostIn(space), 0),
      sentBytes: () => spaces.slice(1).reduce((sum, space) => sum + sentFrom(space), 0),
    }
  } catch (error) {
    close()
    throw error
  }
}

/** Namespaces of a test that was killed. */
function leftBehind(name: string): string[] {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' })
  const spaces = stdout.split('\n').map((text) => text.split(' ')[0]!)
  return spaces.filter((space) => {
    const [, of, pid] = /^(.*)-(\d+)-(?:line|\d+)$/.exec(space) ?? []
    return of === name && !existsSync(`/proc/${pid}`)
  })
}

const addressOf = (index: number) => `10.77.${index}.2`
/** Files here lie over those of /etc for what `ip netns exec` starts. */
const etcOf = (space: string) => join('/etc/netns', space)

/** Hosts know each other's names, and that nobody knows others: the machine's name server is out of reach, and each question to it a wait of seconds. */
function nameHosts([line, ...names]: readonly string[]): void {
  const hosts = ['127.0.0.1 localhost', ...names.map((name, i) => `${addressOf(i)} ${name}`)]
  for (const space of [line!, ...names]) {
    mkdirSync(etcOf(space), { recursive: true })
    writeFileSync(join(etcOf(space), 'hosts'), `${hosts.join('\n')}\n`)
    writeFileSync(join(etcOf(space), 'resolv.conf'), '')
  }
}

function addSpace(space: string): void {
  execFileSync('ip', ['netns', 'add', space])
  ip(space, 'ip', 'link', 'set', 'lo', 'up')
}

function addHost(space: string, line: string, index: number, folder: string): Host {
  const [own, far] = [addressOf(index), `10.77.${index}.1`]
  addSpace(space)
  const veth = ['type', 'veth', 'peer', 'name', `host${index}`, 'netns', line]
  execFileSync('ip', ['link', 'add', 'eth0', 'netns', space, ...veth])
  for (const [where, device, address] of [
    [space, 'eth0', own],
    [line, `host${index}`, far],
  ] as const) {
    ip(where, 'ip', 'addr', 'add', `${address}/24`, 'dev', device)
    ip(where, 'ip', 'link', 'set', device, 'up')
  }
  ip(space, 'ip', 'route', 'add', 'default', 'via', far)
  return {
    name: space,
    address: own,
    unplug: () => rules(space, UNPLUGGED),
    replug: () => rules(space, 'delete table ip unplugged'),
    spawn: (command, args, options = {}) =>
      spawn('ip', ['netns', 'exec', space, 'unshare', '--uts', '--mount', 'sh', '-c', ALONE, space, command, ...args], {
        ...options,
        env: { ...(options.env ?? process.env), TMPDIR: folder },
      }),
  }
}

/** Files through which processes of one host find each other are a host's own too. */
const ALONE = 'hostname "$0"; mount -t tmpfs tmpfs "$TMPDIR"; mount -t tmpfs tmpfs /dev/shm 2>/dev/null; exec "$@"'

const lossRules = (percent: number) => `
table ip loss {
  counter lost { }
  chain arriving {
    type filter hook input priority 0;
    iif lo accept
    numgen random mod 100 < ${percent} counter name lost drop
  }
}`

const UNPLUGGED = `
table ip unplugged {
  chain arriving {
    type filter hook input priority 1;
    iif lo accept
    drop
  }
  chain leaving {
    type filter hook output priority 1;
    oif lo accept
    drop
  }
}`

const RELAY_RULES = `
table ip relay {
  chain passing {
    type nat hook prerouting priority -100;
    meta l4proto tcp redirect to :${RELAY_PORT}
  }
}`

/** Every connection between hosts goes through the relay from now on. */
async function startRelay(line: string, delayMs: number): Promise<void> {
  const args = [file('./relay.mjs'), String(RELAY_PORT), String(delayMs)]
  const relay = spawn('ip', ['netns', 'exec', line, process.execPath, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    relay.stdout.once('data', () => resolve())
    relay.once('exit', (code) => reject(new Error(`the relay ended with ${code}`)))
  })
  rules(line, RELAY_RULES)
}

function ip(space: string, ...command: string[]): string {
  return execFileSync('ip', ['netns', 'exec', space, ...command], { encoding: 'utf8' })
}

function rules(space: string, text: string): void {
  execFileSync('ip', ['netns', 'exec', space, 'nft', '-f', '-'], { input: text })
}

function lostIn(space: string): number {
  const { stdout } = spawnSync('ip', ['netns', 'exec', space, 'nft', 'list', 'counters'], { encoding: 'utf8' })
  return Number(/packets (\d+)/.exec(stdout)?.[1] ?? 0)
}

function sentFrom(space: string): number {
  return Number(ip(space, 'cat', '/sys/class/net/eth0/statistics/tx_bytes'))
}

function removeSpace(space: string): void {
  const { stdout } = spawnSync('ip', ['netns', 'pids', space], { encoding: 'utf8' })
  for (const pid of stdout.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // Gone by itself.
    }
  }
  spawnSync('ip', ['netns', 'del', space])
  rmSync(etcOf(space), { recursive: true, force: true })
}
