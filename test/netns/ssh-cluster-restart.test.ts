/** @file `oarfish cluster` whose processes and hosts go while it trains: it is started again, goes on from the last saved pass, and ends with the bits of a job that nothing befell. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { clusterTools, openCluster, type Run, type TestCluster } from './ssh-cluster.testing.ts'

vi.setConfig({ testTimeout: 300_000 })

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const lacking = clusterTools()
if (lacking !== undefined) console.warn(`ssh-cluster is skipped: ${lacking}`)

const PASSES = 6

describe.skipIf(lacking !== undefined)('ssh-cluster: a job on two hosts that is struck', () => {
  let cluster: TestCluster
  let conf: string
  let quietDigest: string
  const running: Run[] = []
  beforeAll(async () => {
    cluster = await openCluster('sshr', 2)
    for (const { name } of cluster.hosts) cluster.program(name, 'oarfish', `exec ${at('bin/path/oarfish')} "$@"`)
    const work = join(cluster.folder, 'workspace')
    cpSync(at('examples/recommendation'), work, { recursive: true, filter: (path) => !/[/\\](output|log)$/.test(path) })
    conf = cluster.conf()
  })
  afterAll(() => cluster?.close())
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL')
    for (const i of cluster.hosts.keys()) for (const pid of cluster.processes(i)) process.kill(pid, 'SIGKILL')
  })

  const OPTIONS = ['--config_args=size=8,batch_size=60', `--num_passes=${PASSES}`, '--dot_period=0', '--log_period=0']
  function start(more: readonly string[] = [`--job_dispatch_package=${join(cluster.folder, 'workspace')}`]): Run {
    const ssh = `ssh -F ${cluster.ssh.config} -o ServerAliveInterval=1 -o ServerAliveCountMax=2`
    const run = cluster.oarfish(['cluster', '--conf', conf, ...more, ...OPTIONS], { OARFISH_SSH: ssh })
    running.push(run)
    return run
  }
  const folderOf = (out: string) => /, (\S+) on each/.exec(out)![1]!
  const digestOf = (folder: string, pass = PASSES - 1) =>
    cluster.on(0, `node ${at('test/checkpoint-digest.mjs')} ${folder}/output/pass-0000${pass}`)
  /** Passes that were trained, in their order, by the log of node 0. */
  const trained = (folder: string) =>
    [...cluster.on(0, `cat ${folder}/log/train.log`).matchAll(/ Pass=(\d+) samples=(\d+)/g)].map(
      ([, pass, samples]) => [Number(pass), Number(samples)],
    )
  const saved = async (run: Run, pass: number) => await run.printed(RegExp(`Saving parameters to \\S*pass-0000${pass}`))
  const pidOf = (out: string, name: string) =>
    [...out.matchAll(RegExp(`${name} runs \\(pid (\\d+)\\)`, 'g'))].at(-1)![1]!

  test('a trainer, then a server is killed: each pass counts once, and the last has the bits of a quiet job', async () => {
    const quiet = await start().ended
    expect(quiet.code, quiet.out).toBe(0)
    quietDigest = digestOf(folderOf(quiet.out))
    expect(quietDigest).toMatch(/^[1-9]\d* rows/)
    const run = start()
    await saved(run, 0)
    cluster.on(1, `kill -9 ${pidOf(run.out(), 'worker 1')}`)
    await run.printed(/worker 1 .* failed first: signal SIGKILL/)
    await run.printed(/Starting again from the last saved pass: 1 of 3 times since it/)
    await saved(run, 2)
    cluster.on(0, `kill -9 ${pidOf(run.out(), 'server 0')}`)
    await run.printed(/server 0 .* failed first: signal SIGKILL/)
    const { code, out } = await run.ended
    expect(code, out).toBe(0)
    expect(out).toMatch(/This job was started before: it goes on from output\/pass-00002/)
    const folder = folderOf(out)
    // What was saved was trained once more by nobody: of each pass the last line counts, and each is as long as it was.
    const counted = new Map(trained(folder) as [number, number][])
    expect([...counted]).toEqual(trained(folderOf(quiet.out)))
    expect(digestOf(folder)).toBe(quietDigest)
  })

  test('starts used up: cause, exit code and what to type, which goes on; a job never goes on from the passes of another', async () => {
    const run = start()
    await saved(run, 1)
    for (let times = 0; times <= 3; times++) {
      const before = run.out().length
      cluster.on(1, `kill -9 ${pidOf(run.out(), 'worker 1')}`)
      if (times < 3)
        await vi.waitFor(() => expect(run.out().slice(before)).toMatch(/Starting again[\s\S]*worker 1 runs/), WAIT)
    }
    const { code, out } = await run.ended
    expect(code, out).toBe(137)
    expect(out).toMatch(/started again 3 times without a new saved pass, and ends/)
    const folder = folderOf(out)
    const [, there] = /(--job_workspace=\S+ --resume)/.exec(out)!
    const resumed = await start(there!.split(' ')).ended
    expect(resumed.code, resumed.out).toBe(0)
    expect(resumed.out).toMatch(/it goes on from output\/pass-0000\d/)
    expect(digestOf(folder)).toBe(quietDigest)
    const anew = await start([`--job_workspace=${folder}`]).ended
    expect(anew.code, anew.out).toBe(0)
    expect(anew.out).not.toContain('goes on from')
    expect(trained(folder)).toHaveLength(PASSES)
  })

  test('a host that is away and comes back, with an empty disk, is waited for; one that does not ends the job, which says so', async () => {
    const run = start()
    await saved(run, 0)
    cluster.on(1, `rm -r ${folderOf(run.out())}`)
    cluster.hosts[1]!.unplug()
    await run.printed(/root@10\.77\.1\.2: waiting up to \d+ s for it to come back/)
    cluster.hosts[1]!.replug()
    await run.printed(/root@10\.77\.1\.2 has no \S+\/JOB\d+ any more: it is dispatched again/)
    await run.printed(/root@10\.77\.1\.2 is back/)
    const { code, out } = await run.ended
    expect(code, out).toBe(0)
    expect(out).toMatch(/it goes on from output\/pass-0000/)
    const gone = start([`--job_workspace=${folderOf(out)}`, '--host_timeout=3'])
    await saved(gone, 0)
    cluster.hosts[1]!.unplug()
    const end = await gone.ended
    cluster.hosts[1]!.replug()
    expect(end.code, end.out).not.toBe(0)
    expect(end.out).toMatch(
      /root@10\.77\.1\.2 did not come back within 3 s, and the job ends\.[\s\S]*oarfish stop JOB\d+\..*--resume/,
    )
  })

  test.each([
    ['--resume', '-p', 'a folder that is dispatched has no saved passes to go on from'],
    ['--max_restart=x', '-p', 'max_restart'],
  ])('%s with a folder to dispatch is refused', async (word, flag, message) => {
    const { code, out } = await start([flag, join(cluster.folder, 'workspace'), word]).ended
    expect([code, out]).toEqual([2, expect.stringContaining(message)])
  })
})

const WAIT = { timeout: 120_000, interval: 50 }
