/** @file Slurm on the hosts of a test network: munged, slurmctld on the first host, slurmd on each. Needs root. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Host } from '../netns/network.testing.ts'

export interface Slurm {
  /** For SLURM_CONF. */
  readonly config: string
  /** What its controller and nodes said last, and what they hold: for a test that failed. */
  said(): string
  close(): void
}

export async function openSlurm(hosts: readonly Host[]): Promise<Slurm> {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-slurm-'))
  const config = join(folder, 'slurm.conf')
  const socket = join(folder, 'munge.socket')
  for (const name of ['state', ...hosts.map((host) => `spool-${host.name}`)]) mkdirSync(join(folder, name))
  writeFileSync(config, configOf(hosts, folder, socket))
  // The newer of the two asks for a mounted cgroup file system, also where nothing is to be held in one.
  writeFileSync(join(folder, 'cgroup.conf'), 'CgroupPlugin=cgroup/v1\n')
  const munged = startMunged(folder, socket)
  const control = hosts[0]!.spawn('slurmctld', ['-D', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  const nodes = hosts.map((host) =>
    host.spawn('slurmd', ['-D', '-f', config, '-N', host.name], { stdio: ['ignore', 'ignore', 'pipe'] }),
  )
  const children: readonly ChildProcess[] = [munged, control, ...nodes]
  let said = ''
  for (const child of [control, ...nodes]) child.stderr!.on('data', (text) => (said += text))
  const close = () => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await idle(hosts, config)
    return { config, said: () => `${held(hosts, config)}\n${said.slice(-8000)}`, close }
  } catch (error) {
    close()
    throw new Error(`${(error as Error).message}\n${said.slice(-4000)}`)
  }
}

/** One for all: its socket is a file, which all hosts see. */
function startMunged(folder: string, socket: string): ChildProcess {
  writeFileSync(join(folder, 'munge.key'), randomBytes(128), { mode: 0o600 })
  const files = [`--key-file=${folder}/munge.key`, `--pid-file=${folder}/munge.pid`, `--seed-file=${folder}/munge.seed`]
  execFileSync('chmod', ['755', folder])
  return spawn(
    '/usr/sbin/munged',
    ['--foreground', '--force', `--socket=${socket}`, `--log-file=${folder}/munge.log`, ...files],
    {
      stdio: 'ignore',
    },
  )
}

const configOf = (hosts: readonly Host[], folder: string, socket: string) => `ClusterName=test
SlurmctldHost=${hosts[0]!.name}(${hosts[0]!.address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=${socket}
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=10
SlurmctldDebug=verbose
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd-%n.pid
SlurmdSpoolDir=${folder}/spool-%n
StateSaveLocation=${folder}/state
SlurmctldTimeout=30
SlurmdTimeout=30
KillWait=10
MinJobAge=300
${hosts.map(({ name, address }) => `NodeName=${name} NodeAddr=${address} NodeHostname=${name} CPUs=2 Sockets=1 CoresPerSocket=2`).join('\n')}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

function held(hosts: readonly Host[], config: string): string {
  const show = (what: string) => inHost(hosts[0]!, config, 'scontrol', 'show', what, '--oneliner').stdout
  return `${show('job')}${show('node')}`
}

const inHost = (host: Host, config: string, ...words: readonly string[]) =>
  spawnSync('ip', ['netns', 'exec', host.name, ...words], {
    encoding: 'utf8',
    env: { ...process.env, SLURM_CONF: config },
  })

const START_MS = 120_000

async function idle(hosts: readonly Host[], config: string): Promise<void> {
  const until = Date.now() + START_MS
  const states = () => inHost(hosts[0]!, config, 'sinfo', '-h', '-N', '-o', '%T')
  for (;;) {
    const { stdout, stderr } = states()
    if (stdout.split('\n').filter((state) => state === 'idle').length === hosts.length) return
    if (Date.now() > until) throw new Error(`Slurm did not start: ${stdout} ${stderr}`)
    await new Promise((done) => setTimeout(done, 300))
  }
}
