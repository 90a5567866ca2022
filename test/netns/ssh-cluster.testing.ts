/** @file A cluster for tests: hosts with sshd and homes of their own, and one more from which jobs are launched. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Host, type Network, networkTools, openNetwork } from './network.testing.ts'
import { openSsh, type SshHosts } from './ssh.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const BIN = at('bin/oarfish.js')

export interface Run {
  readonly child: ChildProcess
  readonly out: () => string
  /** Resolves when the text has been printed. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly ms: number }>
}

export interface TestCluster {
  readonly hosts: readonly Host[]
  readonly ssh: SshHosts
  /** Here: for workspaces and confs. */
  readonly folder: string
  /** On each host, its own. */
  readonly root: string
  /** Writes a conf and returns its path. */
  conf(values?: Readonly<Record<string, unknown>>): string
  /** Starts `oarfish` on the launching host. */
  oarfish(args: readonly string[], env?: Readonly<Record<string, string>>, cwd?: string): Run
  /** Runs a script of sh there, with `oarfish` on its PATH. */
  sh(args: readonly string[], env?: Readonly<Record<string, string>>): Run
  /** Puts a script on the PATH of one host, before all others. */
  program(host: string, name: string, script: string): void
  /** Process ids of a job on a host; of all jobs when it is not named. */
  processes(host: number, job?: string): readonly number[]
  /** How many processes run on the launching host, and on the others: each has its sshd. */
  launching(): number
  running(): number
  /** Runs a script on a host, over its sshd: in its home. */
  on(host: number, script: string): string
  close(): void
}

/** Why there can be no such cluster here; undefined: there can. */
export function clusterTools(): string | undefined {
  const lacking = networkTools()
  if (lacking !== undefined) return lacking
  const { status, stderr } = spawnSync(process.execPath, [at('scripts/ssh-tools.mjs')], { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim()
}

export async function openCluster(name: string, count: number): Promise<TestCluster> {
  const network: Network = await openNetwork({ name, hosts: count + 1 })
  const folder = mkdtempSync(join(tmpdir(), `oarfish-${name}-`))
  try {
    // A host's own programs come first, so that a test may put others in their place.
    const paths = network.hosts.map((host) =>
      [join(folder, 'programs', host.name), process.env['PATH']!].join(delimiter),
    )
    const hosts = network.hosts.slice(0, count)
    const launcher = network.hosts[count]!
    const ssh = await openSsh(hosts, { paths })
    const root = join(ssh.home, 'paddle')
    const ownEnv = () => ({
      ...Object.fromEntries(
        Object.entries(process.env).filter(([key]) => !/^(PADDLE|OARFISH|FLAGS)_|^POD_IP$/.test(key)),
      ),
      OARFISH_SSH: `ssh -F ${ssh.config}`,
      XDG_DATA_HOME: join(folder, 'data'),
    })
    const cluster: TestCluster = {
      hosts,
      ssh,
      folder,
      root,
      conf: (values = {}) => {
        const path = join(folder, `conf-${Math.random().toString(36).slice(2)}.yaml`)
        const all = {
          HOSTS: hosts.map(({ address }) => `root@${address}`),
          ROOT_DIR: root,
          PADDLE_PORT: 7164,
          ...values,
        }
        writeFileSync(path, JSON.stringify(all))
        return path
      },
      oarfish: (args, env = {}, cwd = folder) =>
        watch(launcher.spawn(process.execPath, [BIN, ...args], { cwd, env: { ...ownEnv(), ...env } })),
      sh: (args, env = {}) =>
        watch(
          launcher.spawn('sh', args, {
            cwd: folder,
            env: { ...ownEnv(), PATH: [at('bin/path'), process.env['PATH']].join(delimiter), ...env },
          }),
        ),
      program: (host, name, script) => {
        mkdirSync(join(folder, 'programs', host), { recursive: true })
        writeFileSync(join(folder, 'programs', host, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      },
      processes: (host, job = '') => {
        const belongs = (pid: number) => environOf(pid).includes(`OARFISH_JOB=${job}`)
        return pidsOf(hosts[host]!).filter(belongs)
      },
      launching: () => pidsOf(launcher).length,
      running: () => hosts.flatMap(pidsOf).length,
      on: (host, script) => {
        const words = ['netns', 'exec', launcher.name, 'ssh', '-F', ssh.config, hosts[host]!.name, `cd; ${script}`]
        const { status, stdout, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
        if (status !== 0) throw new Error(`${script}: ${stdout}${stderr}`)
        return stdout.trim()
      },
      close: () => {
        ssh.close()
        network.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
    for (const i of hosts.keys()) cluster.on(i, 'mkdir -p paddle')
    mkdirSync(join(folder, 'data'), { recursive: true })
    return cluster
  } catch (error) {
    network.close()
    throw error
  }
}

function pidsOf({ name }: Host): readonly number[] {
  const { stdout } = spawnSync('ip', ['netns', 'pids', name], { encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean).map(Number)
}

/** Empty where it has ended. */
function environOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

const PRINT_MS = 120_000

function watch(child: ChildProcess): Run {
  const began = performance.now()
  let out = ''
  const looks = new Set<() => void>()
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text
      for (const look of looks) look()
    })
  const ended = new Promise<{ code: number | null; out: string; ms: number }>((done) => {
    child.once('close', (code) => done({ code, out, ms: performance.now() - began }))
  })
  const printed = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`${pattern} was not printed:\n${out}`)), PRINT_MS)
      const look = () => {
        const found = pattern.exec(out)
        if (!found) return
        clearTimeout(timer)
        looks.delete(look)
        done(found)
      }
      looks.add(look)
      look()
      void ended.then(() => {
        clearTimeout(timer)
        if (!pattern.test(out)) fail(new Error(`it ended without printing ${pattern}:\n${out}`))
      })
    })
  return { child, out: () => out, printed, ended }
}
