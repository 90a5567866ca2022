/** @file Groups over two hosts: the ring by TCP, and mpirun with a hostfile through an SSH server on each. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTls } from '../../src/base/net/index.ts'
import type { RingPlan } from '../../src/training/collective/index.ts'
import { MPI_ENV, mpiTools } from '../collective/mpi.testing.ts'
import { RANK_PROGRAM, type Running, watch } from '../collective/ranks.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { type Host, type Network, networkTools, openNetwork } from './network.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const noNetwork = networkTools()
if (noNetwork !== undefined) console.warn(`netns is skipped: ${noNetwork}`)
const noMpi = noNetwork === undefined ? mpiTools() : undefined
if (noMpi !== undefined) console.warn(`netns with mpirun is skipped: ${noMpi}`)

describe.skipIf(noNetwork !== undefined)('netns: the ring on two hosts', () => {
  let network: Network
  let [first, second]: Host[] = []
  beforeAll(async () => {
    network = await openNetwork({ name: 'groupring', hosts: 2 })
    ;[first, second] = network.hosts
  })
  afterAll(() => network?.close())

  /** Rank r on host `places[r]`. */
  function start(places: readonly Host[], work: string, more: Partial<RingPlan> = {}): readonly Running[] {
    const endpoints = places.map(({ address }, i) => `${address}:${7100 + i}`)
    const plan = { kind: 'ring', endpoints, identity: { jobId: 'two-hosts', token: 'secret' }, ...more }
    return places.map((host, rank) =>
      watch(host.spawn(process.execPath, [RANK_PROGRAM, JSON.stringify({ plan: { ...plan, rank }, work })])),
    )
  }

  test.each([
    ['TCP', undefined],
    ['TLS', openTls('auto', { token: 'secret' })],
  ])('does all that a group must do, over %s', async (_, tls) => {
    const identity = { jobId: 'two-hosts', token: 'secret', tls }
    const ranks = start([first!, second!, first!], 'cases', { identity })
    const ended = await Promise.all(ranks.map((rank) => rank.ended))
    for (const { code, lines, text } of ended) {
      expect(code, text + JSON.stringify(lines.at(-1))).toBe(0)
      expect(lines[0]).toMatchObject({ description: 'ring of 3 over sockets' })
    }
    const digests = ended.map(({ lines }) => lines.map(({ digest }) => digest))
    expect(digests[1]).toEqual(digests[0])
    expect(digests[2]).toEqual(digests[0])
  })

  test('a host that cannot be reached is named, with its address', async () => {
    const plan = { endpoints: [`${first!.address}:7200`, '10.77.1.9:7200'], startTimeoutMs: 2000 }
    const [rank] = start([first!], 'cases', plan)
    const { lines } = await rank!.ended
    expect(lines.at(-1)).toMatchObject({
      code: 'COLLECTIVE_RANK_MISSING',
      failure: 'rank 1 (10.77.1.9:7200) did not come in 2000 ms',
    })
    const [other] = start([second!], 'cases', {
      endpoints: ['10.77.0.9:7200', `${second!.address}:7200`],
      startTimeoutMs: 2000,
      rank: 1,
    })
    expect((await other!.ended).lines.at(-1)).toMatchObject({
      failure: expect.stringMatching(/10\.77\.0\.9:7200/),
    })
  })

  test('a port in use is named', async () => {
    const busy = watch(
      first!.spawn(process.execPath, [
        '-e',
        'require("net").createServer().listen(7300, () => console.log(\'{"running":1}\'))',
      ]),
    )
    await busy.until(({ running }) => running === 1)
    const endpoints = [`${first!.address}:7300`, `${second!.address}:7301`]
    const [rank] = start([first!], 'cases', { endpoints })
    const { lines } = await rank!.ended
    expect(lines.at(-1)).toMatchObject({
      code: 'COLLECTIVE_PORT',
      failure: expect.stringMatching(/could not listen on 10\.77\.0\.2:7300: .*EADDRINUSE/),
      hint: expect.stringContaining('--start_port'),
    })
    busy.process.kill('SIGKILL')
  })

  test('the same launch on both hosts is one job, by list and by master', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'oarfish-hosts-'))
    const ips = `${first!.address},${second!.address}`
    const own = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(PADDLE|OARFISH|FLAGS)_/.test(name)),
    )
    const launch = (host: Host, flags: readonly string[]) =>
      watch(
        host.spawn(
          process.execPath,
          [
            OARFISH,
            'launch',
            ...flags,
            '--log_dir',
            join(folder, host.name),
            process.execPath,
            RANK_PROGRAM,
            '{"work":"cases"}',
          ],
          { cwd: folder, env: own },
        ),
      )
    try {
      for (const flags of [
        [`--ips=${ips}`, '--nproc_per_node=2'],
        ['--master', `${first!.address}:7400`, '--nnodes', '2', '--nproc_per_node', '1'],
      ]) {
        const ended = await Promise.all([first!, second!].map((host) => launch(host, flags).ended))
        for (const { code, text, lines } of ended) expect(code, `${text}${JSON.stringify(lines.at(-1))}`).toBe(0)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('a host that is cut off is named by the others within seconds', async () => {
    const identity = { jobId: 'two-hosts', token: 'secret', silenceMs: 3500 }
    const ranks = start([first!, second!, first!], 'forever', { identity })
    await Promise.all(ranks.map((rank) => rank.until(({ running }) => running !== undefined)))
    const cut = performance.now()
    second!.unplug()
    for (const rank of [ranks[0]!, ranks[2]!]) {
      const { lines } = await rank.ended
      expect(lines.at(-1)!.failure).toMatch(/rank 1 \(10\.77\.1\.2:7101\) is gone .*no sign of life/)
    }
    await expectWithin(performance.now() - cut, 6000)
    ranks[1]!.process.kill('SIGKILL')
  })
})

describe.skipIf(noNetwork !== undefined || noMpi !== undefined)('netns: mpirun with a hostfile on two hosts', () => {
  let network: Network
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oarfish-ssh-'))
    chmodSync(folder, 0o700)
    network = await openNetwork({ name: 'groupmpi', hosts: 2 })
    await Promise.all(network.hosts.map((host) => startSshServer(host, folder)))
  })
  afterAll(() => {
    network?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const hostfile = (format: (address: string) => string) => {
    const path = join(folder, 'hosts')
    writeFileSync(path, `${network.hosts.map(({ address }) => format(address)).join('\n')}\n`)
    return path
  }
  const forms = [
    {
      name: 'Open MPI',
      args: (ssh: string) => [
        'mpirun.openmpi',
        ...['--hostfile', hostfile((address) => `${address} slots=2`), '--mca', 'plm_rsh_agent', ssh],
        ...['--mca', 'btl_tcp_if_include', 'eth0', '--mca', 'oob_tcp_if_include', 'eth0'],
      ],
    },
    {
      name: 'MPICH',
      args: (ssh: string) => [
        'mpirun.mpich',
        ...['-f', hostfile((address) => `${address}:2`), '-launcher', 'ssh', '-launcher-exec', ssh, '-iface', 'eth0'],
      ],
    },
  ]

  test.each(forms)('$name: two ranks on each host compute as one group', async ({ args }) => {
    const [command, ...rest] = args(sshCommand(folder))
    const program = [process.execPath, RANK_PROGRAM, '{"work":"some-cases"}']
    const job = watch(network.hosts[0]!.spawn(command!, [...rest, '-np', '4', ...program], { env: MPI_ENV }))
    const { code, lines, text } = await job.ended
    expect(code, text + JSON.stringify(lines.at(-1))).toBe(0)
    expect(lines.filter(({ closed }) => closed)).toHaveLength(4)
    expect(lines.filter(({ ok }) => ok === false)).toEqual([])
  })

  test.each(forms)('$name: a rank killed on the other host ends all within 5 seconds', async ({ args }) => {
    const [command, ...rest] = args(sshCommand(folder))
    const program = [process.execPath, RANK_PROGRAM, '{"work":"forever"}']
    const job = watch(network.hosts[0]!.spawn(command!, [...rest, '-np', '4', ...program], { env: MPI_ENV }))
    const { running } = await job.until(({ rank, running }) => rank === 3 && running !== undefined)
    const killed = performance.now()
    process.kill(running!, 'SIGKILL')
    expect((await job.ended).code).not.toBe(0)
    await expectWithin(performance.now() - killed, 5000)
  })
})

/** Root may log in by the key of this test. */
async function startSshServer(host: Host, folder: string): Promise<void> {
  const key = join(folder, 'key')
  const hostKey = join(folder, `${host.name}-key`)
  const make = (path: string) => execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path])
  make(hostKey)
  if (host.address.endsWith('.0.2')) make(key)
  mkdirSync('/run/sshd', { recursive: true })
  const options = [
    'PermitRootLogin yes',
    'UsePAM no',
    'StrictModes no',
    `AuthorizedKeysFile ${key}.pub`,
    `HostKey ${hostKey}`,
  ]
  const config = join(folder, `${host.name}-config`)
  writeFileSync(config, `Port 22\nListenAddress ${host.address}\n${options.join('\n')}\nPidFile none\n`)
  host.spawn('/usr/sbin/sshd', ['-D', '-f', config], { stdio: 'ignore' })
  for (let i = 0; i < 100; i++) {
    const probe = host.spawn(
      process.execPath,
      [
        '-e',
        `require('net').connect(22, '${host.address}').on('connect', () => process.exit(0)).on('error', () => process.exit(1))`,
      ],
      { stdio: 'ignore' },
    )
    if ((await new Promise((resolve) => probe.on('close', resolve))) === 0) return
  }
  throw new Error(`no SSH server on ${host.name}`)
}

function sshCommand(folder: string): string {
  const path = join(folder, 'ssh.sh')
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR']
  writeFileSync(
    path,
    `#!/bin/sh\nexec ssh -i ${join(folder, 'key')} ${options.map((one) => `-o ${one}`).join(' ')} "$@"\n`,
  )
  chmodSync(path, 0o755)
  return path
}
