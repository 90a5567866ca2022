/** @file The MPI jobs of PaddleRec's guide: submitted to a job server, run by mpirun on two hosts over ssh, to a trained model and its output. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { filled, guideJobs, at as inPackage, type MpiCluster, mpiTools, openMpiCluster } from './mpi-cluster.testing.ts'

const lacking = mpiTools()
if (lacking) console.warn(`skipped: ${lacking}`)

describe.skipIf(lacking)(`jobs on two hosts by mpirun ${lacking ?? ''}`, { timeout: 180_000 }, () => {
  let cluster: MpiCluster
  beforeAll(async () => {
    cluster = await openMpiCluster('submit')
  })
  afterAll(() => cluster?.close())
  beforeEach(() => cluster.begin())
  afterEach(() => cluster.end())

  const at = (path: string) => join(cluster.folder(), path)
  const filesIn = () => ({ fs_name: `file://${at('remote')}`, output_path: '/out', train_data_path: '/train' })
  const submit = async () => await cluster.oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')

  for (const { name, config, backend } of guideJobs()) {
    test(`${name}, with only file system, paths, group and keys filled in`, async () => {
      const isCollective = /fleet_mode: collective/.test(config)
      const keys = await cluster.serve()
      writeFileSync(at('work/config.yaml'), config)
      writeFileSync(at('work/backend.yaml'), filled(backend, { ...filesIn(), group: 'ctr', ...keys }))
      const { code, text } = await submit()
      expect([code, text]).toEqual([0, expect.stringContaining('Congratulations! Job configuration check passed!')])
      const id = /"jobId": "([^"]+)"/.exec(text)![1]!
      const logs = await cluster.oarfish('logs', id, '-f')
      const status = await cluster.oarfish('status', id)
      expect([status.text, logs.text]).toEqual([expect.stringContaining('succeeded'), expect.anything()])
      expect(readdirSync(at('remote/out/increment_dnn')).length).toBeGreaterThan(0)
      const trainer = readFileSync(at('remote/out/log/trainer.0.log'), 'utf8')
      expect(trainer).toMatch(/auc/i)
      expect(existsSync(at('remote/out/log/trainer.1.log'))).toBe(true)
      expect(existsSync(at('remote/out/log/pserver.1.log'))).toBe(!isCollective)
      // Nothing of the job is left on the node that ssh reached, which works in the system's folder.
      expect(readdirSync(tmpdir()).filter((file) => file.startsWith(`oarfish-${id}`))).toEqual([])
      // Gradients of a collective job go through the group that mpirun started.
      if (isCollective) expect(trainer).toMatch(/Rank 0 of 2: .*Open MPI/)
      const prepared = readdirSync(at('work')).find((file) => /_\d{12}/.test(file))!
      expect(readdirSync(at(`work/${prepared}`))).toEqual(
        expect.arrayContaining([
          ...['backend.yaml', 'before_hook.sh', 'config.ini', 'config.yaml', 'end_hook.sh', 'job.sh'],
        ]),
      )
    })
  }

  /** Submits a job whose processes run `command` to the job server; resolves to its id. */
  async function served(command: string, keys: Readonly<Record<string, string>>): Promise<string> {
    const { config, backend } = guideJobs()[0]!
    writeFileSync(at('work/config.yaml'), config)
    const values = { ...filesIn(), group: 'ctr', ...keys, start_cmd: command }
    writeFileSync(at('work/backend.yaml'), filled(backend, values))
    const submitted = await submit()
    return /"jobId": "([^"]+)"/.exec(submitted.text)![1]!
  }
  const ended = async (id: string) => {
    await cluster.oarfish('logs', id, '-f')
    return (await cluster.oarfish('status', id)).text
  }

  test('status gives the root cause: a command that is not there, a node that is killed', async () => {
    const keys = await cluster.serve()
    const missing = await ended(await served('nowhere_to_be_found --epochs 2', keys))
    expect(missing).toMatch(/failed first: exit code 127[\s\S]*nowhere_to_be_found: .*not found/)
    const id = await served('echo begun; exec sleep 600', keys)
    const pid = await vi.waitFor(
      async () => {
        expect((await cluster.oarfish('logs', id, '--role', 'trainer', '--rank', '1')).text).toContain('begun')
        return nodeProcess(id, 1)
      },
      { timeout: 90_000, interval: 500 },
    )
    process.kill(pid, 'SIGKILL')
    const killed = await ended(id)
    expect(killed).toMatch(/failed[\s\S]*mpirun ended with exit code 137/)
    // In mpirun's own words, with the node, and not among what the others did since.
    expect(killed).toMatch(/rank 1 .*on node 10\.77\.1\.2 exited on signal 9/)
    expect(killed).not.toMatch(/stopped|train_data/)
  })

  test('a node whose disk is full is named, and where its folder can be put', async () => {
    const { config, backend } = guideJobs()[0]!
    writeFileSync(at('work/config.yaml'), config)
    const direct = filled(backend, { ...filesIn(), group: 'ctr' }).replace(/backend: "?PaddleCloud"?/, 'backend: MPI')
    writeFileSync(at('work/backend.yaml'), direct.replace(/^submit:\n/m, `submit:\n  hostfile: ${at('hosts')}\n`))
    mkdirSync(at('small'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', at('small')])
    try {
      cluster.env['OARFISH_WORK'] = at('small')
      const { code, text } = await submit()
      expect([code, text]).toEqual([
        2,
        expect.stringMatching(/failed: The disk of submit-\d+-0 is full: .*OARFISH_WORK/s),
      ])
    } finally {
      delete cluster.env['OARFISH_WORK']
      execFileSync('umount', ['--lazy', at('small')])
    }
  })

  test('without a server: backend MPI runs it from here, and a host that is down is named', async () => {
    const { config, backend } = guideJobs()[0]!
    writeFileSync(at('work/config.yaml'), config)
    const direct = filled(backend, { ...filesIn(), group: 'ctr' }).replace(/backend: "?PaddleCloud"?/, 'backend: MPI')
    const withHosts = (file: string) => direct.replace(/^submit:\n/m, `submit:\n  hostfile: ${at(file)}\n`)
    writeFileSync(at('work/backend.yaml'), withHosts('hosts'))
    const { code, text } = await submit()
    expect([code, text]).toEqual([0, expect.stringMatching(/job-\w+ succeeded/)])
    writeFileSync(at('down'), `${cluster.hosts[0]!.address} slots=1\n10.77.9.9 slots=1\n`)
    writeFileSync(at('work/backend.yaml'), withHosts('down'))
    const down = await submit()
    expect(down.code).not.toBe(0)
    expect(down.text).toContain('10.77.9.9')
  })
})

/** The process of a job that mpirun started as this rank. */
function nodeProcess(job: string, rank: number): number {
  const isIt = (pid: string) => {
    try {
      const [environ, words] = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
      const isRank = [`OARFISH_JOB_ID=${job}`, `OMPI_COMM_WORLD_RANK=${rank}`].every((part) => environ!.includes(part))
      return isRank && /oarfish(\.js)?\0cloud\0node/.test(words!)
    } catch {
      return false // it has just ended
    }
  }
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isIt(name))
  expect(found).toHaveLength(1)
  return Number(found[0])
}

describe.skipIf(lacking)(`a host on which nobody installed oarfish ${lacking ?? ''}`, { timeout: 240_000 }, () => {
  let cluster: MpiCluster
  beforeAll(async () => {
    cluster = await openMpiCluster('bare', { hides: [[], [inPackage('bin/path')]] })
    cluster.begin()
  })
  afterAll(() => {
    cluster?.end()
    cluster?.close()
  })

  const at = (path: string) => join(cluster.folder(), path)
  const submit = async () => await cluster.oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
  const { config, backend } = guideJobs()[0]!

  test('gets it with the first job, and not again with the second', async () => {
    writeFileSync(at('work/config.yaml'), config)
    const files = { fs_name: `file://${at('remote')}`, output_path: '/out', train_data_path: '/train' }
    const direct = filled(backend, { ...files, group: 'ctr' }).replace(/backend: "?PaddleCloud"?/, 'backend: MPI')
    writeFileSync(at('work/backend.yaml'), direct.replace(/^submit:\n/m, `submit:\n  hostfile: ${at('hosts')}\n`))
    const { version } = JSON.parse(readFileSync(inPackage('package.json'), 'utf8'))
    const first = await submit()
    const { name, address } = cluster.hosts[1]!
    expect([first.code, first.text]).toEqual([0, expect.stringMatching(/job-\w+ succeeded/)])
    expect(first.text).toContain(`There is no oarfish ${version} on ${name}: it is sent there, once`)
    expect(first.text).toContain(`${address}: installing oarfish`)
    expect(first.text).not.toContain(`${cluster.hosts[0]!.address}: installing`)
    const second = await submit()
    expect([second.code, second.text]).toEqual([0, expect.stringMatching(/job-\w+ succeeded/)])
    expect(second.text).not.toContain('installing')
  })
})
