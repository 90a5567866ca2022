/** @file What the system does to a launched job, and what two launches do to each other: each told as what it is. */
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LOCK_FILES } from '../../src/base/fs/index.ts'
import { mpiTools } from '../submit/mpi-cluster.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'system-'))
  writeFileSync(join(folder, 'wait.mjs'), 'setTimeout(() => process.exit(7), 300_000); console.log("here")')
  writeFileSync(join(folder, 'done.mjs'), 'console.log("done")')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const group = memoryGroup()

test.skipIf(group === undefined).each([
  ['a process that the kernel ends', 'eat.mjs'],
  // As the command of a submitted job.
  ['a shell whose program the kernel ends', 'shell.mjs'],
])('%s for want of memory is told so, with the limit', async (_what, program) => {
  writeFileSync(
    join(folder, 'shell.mjs'),
    `import { spawn } from 'node:child_process'
    spawn('sh', ['-c', 'node eat.mjs; exit $?']).once('exit', (code) => process.exit(code))`,
  )
  writeFileSync(
    join(folder, 'eat.mjs'),
    `const all = []
    if (process.env.PADDLE_TRAINER_ID === '0') setInterval(() => all.push(Buffer.alloc(20e6, 1)), 10)
    else setTimeout(() => undefined, 300_000)`,
  )
  const own = join(group!.parent, `oarfish-test-${process.pid}`)
  mkdirSync(own)
  try {
    writeFileSync(join(own, group!.limit), String(250e6))
    const launch = ['launch', '--nproc_per_node', '2', program]
    const { code, text } = await sh('echo $$ > "$GROUP/cgroup.procs"; exec "$0" "$@"', launch, { GROUP: own })
    expect([code, text]).toEqual([
      2,
      expect.stringMatching(/worker 0 .*the kernel ended it because its control group .* the limit is 250\.0 MB/),
    ])
  } finally {
    await vi.waitFor(() => rmdirSync(own), { timeout: 30_000 })
  }
})

describe.skipIf(!canMount())('a full /dev/shm', () => {
  /** In a mount namespace with a /dev/shm of its own, which `fill` fills. */
  const launch = (fill: string, env: NodeJS.ProcessEnv = {}) => {
    const script = `mount -t tmpfs -o size=8m tmpfs /dev/shm; ${fill}; exec "$0" "$@"`
    const words = ['launch', '--nproc_per_node', '1', '--log_dir', 'logs', 'done.mjs']
    return run('unshare', ['-m', 'bash', '-c', script, process.execPath, OARFISH, ...words], env)
  }
  const FULL = 'head -c 8M /dev/zero > /dev/shm/full'

  test('is told before anything starts, with the way to go on', async () => {
    const { code, text } = await launch(FULL)
    expect([code, text]).toEqual([
      2,
      expect.stringMatching(/\/dev\/shm is full: 0 bytes of 8\.4 MB are free\.[\s\S]*export OARFISH_FULL_SHM=sockets/),
    ])
    expect(existsSync(join(folder, 'logs'))).toBe(false)
  })

  test('is a warning to who said that sockets will do', async () => {
    const { code, text } = await launch(FULL, { OARFISH_FULL_SHM: 'sockets' })
    expect([code, text]).toEqual([0, expect.stringMatching(/\/dev\/shm is full.* exchange over sockets/)])
  })

  test.skipIf(mpiTools() !== undefined)('is told by a node of a submitted job, which ends with 2', async () => {
    const roles = ['pserver', 'trainer'].map((name) => ({ name, replicas: 1, resources: {} }))
    const job = {
      ...{ name: 'job', group: 'ctr', priority: 'normal', kind: 'PS_CPU_MPI', command: 'true' },
      ...{ env: {}, files: [], data: {}, roles, secrets: { profile: 'none', env: [] } },
    }
    writeFileSync(join(folder, 'job.json'), JSON.stringify(job))
    const node = (env: NodeJS.ProcessEnv) => {
      const mpirun = 'mpirun --allow-run-as-root --oversubscribe -n 1 "$0" "$@" < job.json'
      const script = `mount -t tmpfs -o size=8m tmpfs /dev/shm; ${FULL}; ${mpirun}`
      const words = ['-m', 'bash', '-c', script, process.execPath, OARFISH, 'cloud', 'node', '--step', 'prepare']
      return run('unshare', words, { OARFISH_WORK: folder, ...env })
    }
    const { code, text } = await node({})
    expect([code, text]).toEqual([2, expect.stringMatching(/\/dev\/shm is full[\s\S]*export OARFISH_FULL_SHM=sockets/)])
    const goesOn = await node({ OARFISH_FULL_SHM: 'sockets' })
    expect([goesOn.code, goesOn.text]).toEqual([0, expect.stringMatching(/\/dev\/shm is full.* exchange over sockets/)])
  })

  test('is none where a killed job left what fills it, or where some room is left', async () => {
    // Of this process namespace, and of a process that is gone.
    const left = `oarfish-$(stat -Lc %i /proc/self/ns/pid)-$(bash -c 'echo $$')-shm-0123456789ab`
    const after = await launch(`head -c 8M /dev/zero > /dev/shm/${left}`)
    expect([after.code, after.text]).toEqual([0, expect.stringContaining('/dev/shm is nearly full: 8.4 MB of 8.4 MB')])
  })
})

test('a second launch into the same log folder is refused and told whose it is; killed, the first is replaced', async () => {
  const launch = (script: string) => ['launch', '--nproc_per_node', '1', '--log_dir', 'logs', script]
  const first = spawn(process.execPath, [OARFISH, ...launch('wait.mjs')], { cwd: folder, stdio: 'ignore' })
  const log = join(folder, 'logs/workerlog.0')
  await vi.waitFor(() => expect(readFileSync(log, 'utf8')).toBe('here\n'), { timeout: 60_000, interval: 50 })
  const second = await run(process.execPath, [OARFISH, ...launch('done.mjs')])
  expect([second.code, second.text]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(`--log_dir: another job writes into .*logs: process ${first.pid} on .* \\(wait\\.mjs\\) since 20`),
    ),
  ])
  expect(readFileSync(log, 'utf8')).toBe('here\n')
  const gone = new Promise((done) => first.once('exit', done))
  first.kill('SIGKILL')
  await gone
  expect(existsSync(join(folder, 'logs', LOCK_FILES.log))).toBe(true)
  const left = readdirSync(tmpdir()).filter((name) => name.includes(`-${first.pid}-gloo-`))
  expect(left).toHaveLength(1)
  const third = await run(process.execPath, [OARFISH, ...launch('done.mjs')])
  expect([third.code, readFileSync(log, 'utf8')]).toEqual([0, 'done\n'])
  expect(existsSync(join(folder, 'logs', LOCK_FILES.log))).toBe(false)
  // Its folder in the temporary one went with the next start.
  expect(readdirSync(tmpdir()).filter((name) => left.includes(name))).toEqual([])
})

const sh = (script: string, words: readonly string[], env: NodeJS.ProcessEnv) =>
  run('bash', ['-c', script, process.execPath, OARFISH, ...words], env)

function run(program: string, words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return new Promise<{ code: number | null; text: string }>((done, fail) => {
    const child = spawn(program, words, {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), 180_000)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (text += piece))
    child.once('error', fail)
    child.once('close', (code) => {
      clearTimeout(timer)
      done({ code, text })
    })
  })
}

/** A group below that of this process, in which a limit can be set; undefined where that is not allowed. */
function memoryGroup(): { readonly parent: string; readonly limit: string } | undefined {
  const lines = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const [first, second] = [
    lines.find(([, names]) => names === 'memory')?.[2],
    lines.find(([number]) => number === '0')?.[2],
  ]
  const groups = [
    { parent: `/sys/fs/cgroup/memory${first}`, limit: 'memory.limit_in_bytes' },
    { parent: `/sys/fs/cgroup${second}`, limit: 'memory.max' },
  ]
  return groups.find(({ parent, limit }) => {
    const probe = join(parent, `oarfish-probe-${process.pid}`)
    try {
      mkdirSync(probe)
      writeFileSync(join(probe, limit), String(1e9))
      return true
    } catch {
      return false
    } finally {
      if (existsSync(probe)) rmdirSync(probe)
    }
  })
}

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
