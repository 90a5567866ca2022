/** @file `oarfish jobs`, `status`, `logs` and `stop` about jobs of `oarfish cluster`, which no job server knows. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { clusterTools, openCluster, type Run, type TestCluster } from './ssh-cluster.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

const STAND_IN = fileURLToPath(new URL('./stand-in.mjs', import.meta.url))
const OARFISH = fileURLToPath(new URL('../../bin/path/oarfish', import.meta.url))

const lacking = clusterTools()
if (lacking !== undefined) console.warn(`ssh-cluster-jobs is skipped: ${lacking}`)

describe.skipIf(lacking !== undefined)('ssh-cluster-jobs: by their ids', () => {
  let cluster: TestCluster
  let work: string
  const running: Run[] = []
  beforeAll(async () => {
    cluster = await openCluster('sshj', 2)
    work = join(cluster.folder, 'workspace')
    mkdirSync(work)
    writeFileSync(join(work, 'trainer_config.ts'), '')
    for (const { name } of cluster.hosts) {
      const roles = `case "$1" in pserver|trainer) exec node ${STAND_IN} "$@";; esac`
      cluster.program(name, 'oarfish', `${roles}\nexec ${OARFISH} "$@"`)
    }
  })
  afterAll(() => cluster?.close())
  afterEach(() => {
    for (const { child } of running) child.kill('SIGKILL')
    for (const i of cluster.hosts.keys()) for (const pid of cluster.processes(i)) process.kill(pid, 'SIGKILL')
  })

  function start(plan: string): Run {
    writeFileSync(join(work, 'plan'), plan)
    const flags = ['--conf', cluster.conf(), `--job_dispatch_package=${work}`, '--log_period=7']
    const run = cluster.oarfish(['cluster', ...flags])
    running.push(run)
    return run
  }
  const oarfish = async (...args: readonly string[]) => await cluster.oarfish(args).ended

  test('one that failed says which process on which host, why, and shows its logs', async () => {
    const { code, out } = await start('fail 1').ended
    expect(code, out).toBe(3)
    const [id] = /JOB\d{14}/.exec(out)!
    expect((await oarfish('jobs', '--state', 'failed')).out).toMatch(new RegExp(`^${id} +${id} +- +SSH +failed`, 'm'))
    expect((await oarfish('jobs', '--state', 'running')).out).not.toContain(id)
    const status = await oarfish('status', id)
    expect([status.code, status.out]).toEqual([0, expect.stringMatching(/failed/)])
    expect(status.out).toMatch(/root@10\.77\.1\.2: worker 1 \(pid \d+\) failed first: exit code 3/)
    expect(status.out).toContain('the loss is not a number')
    expect(JSON.parse((await oarfish('status', id, '--json')).out)).toMatchObject({ jobId: id, phase: 'failed' })
    const all = await oarfish('logs', id)
    expect(all.out).toMatch(
      /==> root@10\.77\.0\.2:log\/train\.log <==[\s\S]*==> root@10\.77\.1\.2:log\/server\.log <==/,
    )
    const one = await oarfish('logs', id, '--role', 'trainer', '--rank', '1')
    expect(one.out).toMatch(/^==> root@10\.77\.1\.2:log\/train\.log <==\n[\s\S]*the loss is not a number\n$/)
    expect(one.out.match(/==>/g)).toHaveLength(1)
  })

  test('one that runs is followed until oarfish stop, and is then known as stopped', async () => {
    const run = start('wait')
    const [, id] = await run.printed(/(JOB\d{14}): 2 hosts/)
    await run.printed(/worker 1 runs/)
    expect((await oarfish('status', id!)).out).toMatch(/running[\s\S]*on root@10\.77\.0\.2, root@10\.77\.1\.2/)
    const following = cluster.oarfish(['logs', id!, '-f'])
    running.push(following)
    await following.printed(/==> root@10\.77\.1\.2:log\/train\.log <==\n[\s\S]*Pass=0/)
    const stopped = await oarfish('stop', id!)
    // Those whose peers have just ended may be gone before they are asked.
    expect([stopped.code, stopped.out]).toEqual([0, expect.stringMatching(/root@10\.77\.1\.2: \d process(es)? ended/)])
    await run.ended
    expect((await following.ended).code).toBe(0)
    expect((await oarfish('status', id!)).out).toContain('stopped')
  })

  test('one that was never started from here is told with those that were', async () => {
    const { code, out } = await oarfish('status', 'JOB20200101000000')
    expect([code, out]).toEqual([2, expect.stringMatching(/JOB20200101000000: no such job over ssh/)])
  })
})
