/** @file `oarfish cluster` on four hosts, each with its own sshd, keys and home: from the first check to the last process. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { expectWithin } from '../within.testing.ts'
import { newKey } from './ssh.testing.ts'
import { clusterTools, openCluster, type Run, type TestCluster } from './ssh-cluster.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

const STAND_IN = fileURLToPath(new URL('./stand-in.mjs', import.meta.url))
const OARFISH = fileURLToPath(new URL('../../bin/path/oarfish', import.meta.url))

const lacking = clusterTools()
if (lacking !== undefined) console.warn(`ssh-cluster is skipped: ${lacking}`)

describe.skipIf(lacking !== undefined)('ssh-cluster: a job on four hosts', () => {
  let cluster: TestCluster
  let work: string
  const running: Run[] = []

  beforeAll(async () => {
    cluster = await openCluster('sshc', 4)
    work = join(cluster.folder, 'workspace')
    for (const { name } of cluster.hosts) standIn(name)
  })
  afterAll(() => cluster?.close())
  afterEach(() => {
    for (const { child } of running) child.kill('SIGKILL')
    for (const i of cluster.hosts.keys()) for (const pid of cluster.processes(i)) process.kill(pid, 'SIGKILL')
  })
  beforeEach(() => {
    rmSync(work, { recursive: true, force: true })
    mkdirSync(join(work, 'data/empty'), { recursive: true })
    writeFileSync(join(work, 'trainer_config.ts'), `export const seed = ${Math.random()}\n`)
    writeFileSync(join(work, 'data/train.list'), 'data/ratings\n')
    writeFileSync(join(work, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
    plan('done')
  })

  const plan = (text: string) => writeFileSync(join(work, 'plan'), text)
  const standIn = (host: string) =>
    cluster.program(
      host,
      'oarfish',
      `case "$1" in pserver|trainer) exec node ${STAND_IN} "$@";; esac\nexec ${OARFISH} "$@"`,
    )
  function start(conf: string, more: readonly string[] = [`--job_dispatch_package=${work}`], env = {}): Run {
    const run = cluster.oarfish(['cluster', '--conf', conf, ...more, '--log_period=7', '--use_gpu', '0'], env)
    running.push(run)
    return run
  }
  const jobOf = async (run: Run) => (await run.printed(/(JOB\d{14}): 4 hosts/))[1]!
  const everywhere = (job: string) => cluster.hosts.map((_host, i) => cluster.processes(i, job).length)

  test('its files, its servers, then its trainers; the files of the next dispatch are taken from there', async () => {
    const conf = cluster.conf({ LD_LIBRARY_PATH: '/usr/local/cuda/lib64' })
    const first = await start(conf).ended
    expect([first.code, first.out]).toEqual([0, expect.stringContaining('4 files (')])
    expect(first.out).toContain('on 4 hosts, 16 uploaded')
    const [, folder] = /, (\S+) on each/.exec(first.out)!
    expect(folder).toMatch(new RegExp(`^${cluster.root}/JOB\\d{14}$`))
    expect(first.out).toContain(`is done; its models are in root@10.77.0.2:${folder}/output`)
    const addresses = cluster.hosts.map(({ address }) => address)
    expect(
      cluster.on(
        2,
        `cat ${folder}/nodefile; cat ${folder}/log/train.log; stat -c %a ${folder}/run.sh; ls ${folder}/data`,
      ),
    ).toMatch(
      new RegExp(
        [
          '^2',
          `trainer --num_gradient_servers=4 --nics=eth0 --port=7164 --ports_num=2 --ports_num_for_sparse=2 --comment=paddle_cluster_job --pservers=${addresses} --save_dir=./output --log_period=7 --use_gpu=0 --trainer_id=2`,
          'job JOB\\d{14}, token of 64, /usr/local/cuda/lib64',
          'Pass=0 Batch=7 cost=0.5',
          'a line of stderr',
          '755',
          'empty\ntrain.list$',
        ].join('\n'),
      ),
    )
    expect(cluster.on(3, `head -1 ${folder}/log/server.log`)).toBe(
      'pserver --num_gradient_servers=4 --nics=eth0 --port=7164 --ports_num=2 --ports_num_for_sparse=2 --comment=paddle_cluster_job',
    )

    const again = await start(conf).ended
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('on 4 hosts, 0 uploaded (0 bytes)')])
    writeFileSync(join(work, 'data/train.list'), 'data/other\n')
    cluster.on(1, `echo changed > ${folder}/run.sh; echo changed > ${/, (\S+) on each/.exec(again.out)![1]}/run.sh`)
    const changed = await start(conf).ended
    expect([changed.code, changed.out]).toEqual([0, expect.stringContaining('on 4 hosts, 5 uploaded')])

    cluster.on(0, `rm -r ${folder}/log`)
    const there = await start(conf, [`--job_workspace=${folder}`]).ended
    expect([there.code, there.out]).toEqual([0, expect.not.stringContaining('dispatched')])
    expect(cluster.on(0, `cat ${folder}/log/train.log`)).toContain('--trainer_id=0')
  })

  test('the first that fails is named with its host and last lines; its exit code is that of the command', async () => {
    plan('fail 2')
    const { code, out } = await start(cluster.conf()).ended
    expect(code, out).toBe(3)
    expect(out).toMatch(/root@10\.77\.2\.2: worker 2 \(pid \d+\) failed first: exit code 3\. The others are stopped\./)
    expect(out).toMatch(/The end of root@10\.77\.2\.2:\S+\/log\/train\.log:\n[\s\S]*the loss is not a number/)
    const [job] = /JOB\d{14}/.exec(out)!
    expect(everywhere(job)).toEqual([0, 0, 0, 0])
  })

  test('a killed trainer is noticed, and all are started again, as often as --max_restart says', async () => {
    plan('wait')
    const run = start(cluster.conf(), [`--job_dispatch_package=${work}`, '--max_restart=1'])
    const [, pid] = await run.printed(/10\.77\.1\.2: worker 1 runs \(pid (\d+)\)/)
    cluster.on(1, `kill -9 ${pid}`)
    await run.printed(/Starting again from the beginning, there is no saved pass yet: 1 of 1 times since it/)
    const [, again] = await run.printed(/Starting again[\s\S]*10\.77\.1\.2: worker 1 runs \(pid (\d+)\)/)
    await run.printed(/Starting again[\s\S]*worker 3 runs/)
    cluster.on(1, `kill -9 ${again}`)
    const { code, out } = await run.ended
    expect([code, out]).toEqual([
      137,
      expect.stringMatching(
        /root@10\.77\.1\.2: worker 1 .* failed first: signal SIGKILL[\s\S]*started again 1 times without a new saved pass/,
      ),
    ])
    expect(everywhere(/JOB\d{14}/.exec(out)![0])).toEqual([0, 0, 0, 0])
  })

  test('Ctrl+C ends this job alone; a job whose launcher was killed goes on until oarfish stop', async () => {
    plan('wait')
    const first = start(cluster.conf())
    const one = await jobOf(first)
    await first.printed(/worker 3 runs/)
    const taken = await start(cluster.conf()).ended
    expect([taken.code, taken.out]).toEqual([
      2,
      expect.stringContaining('root@10.77.3.2: port 7164, 7165, 7166, 7167 is in use.'),
    ])
    const second = start(cluster.conf({ PADDLE_PORT: 7264 }))
    const other = await jobOf(second)
    await Promise.all([0, 1, 2, 3].map(async (i) => await second.printed(new RegExp(`worker ${i} runs`))))
    expect(everywhere(one)).toEqual([2, 2, 2, 2])

    first.child.kill('SIGINT')
    const ended = await first.ended
    expect([ended.code, ended.out]).toEqual([130, expect.stringContaining('Stopping the job on all hosts')])
    expect([everywhere(one), everywhere(other)]).toEqual([
      [0, 0, 0, 0],
      [2, 2, 2, 2],
    ])

    second.child.kill('SIGKILL')
    await second.ended
    await expect.poll(() => cluster.launching()).toBe(0)
    expect(everywhere(other)).toEqual([2, 2, 2, 2])
    const inUse = await start(cluster.conf({ PADDLE_PORT: 7364 }), [`--job_workspace=${cluster.root}/${other}`]).ended
    expect([inUse.code, inUse.out]).toEqual([2, expect.stringContaining(`${other} still runs in`)])
    const stopped = await cluster.oarfish(['stop', other]).ended
    expect([stopped.code, stopped.out]).toEqual([0, expect.stringMatching(/root@10\.77\.3\.2: \d process(es)? ended/)])
    expect(everywhere(other)).toEqual([0, 0, 0, 0])
    const gone = await cluster.oarfish(['stop', other]).ended
    expect([gone.code, gone.out]).toEqual([2, expect.stringContaining(`${other}: no such job over ssh runs`)])
  })

  test('a second Ctrl+C ends at once, and with it processes that would not end', async () => {
    plan('deaf')
    const run = start(cluster.conf(), [`--job_dispatch_package=${work}`, '--stop_timeout=100'])
    const job = await jobOf(run)
    const log = (i: number) => cluster.on(i, `cat ${cluster.root}/${job}/log/train.log 2>/dev/null || true`)
    for (const i of cluster.hosts.keys()) await expect.poll(() => log(i)).toContain('a line of stderr')
    run.child.kill('SIGINT')
    await run.printed(/in 100 s, or by another Ctrl\+C, its processes are killed/)
    // The hosts have asked: nobody has ended by that.
    await new Promise((later) => setTimeout(later, 2000))
    expect(everywhere(job)).toEqual([2, 2, 2, 2])
    const again = performance.now()
    run.child.kill('SIGINT')
    await run.ended
    await expectWithin(performance.now() - again, 3000)
    await expect.poll(() => everywhere(job)).toEqual([0, 0, 0, 0])
  })

  test('an interface that one host lacks', async () => {
    for (const i of [0, 1, 2])
      cluster.on(
        i,
        `ip link add ib0 type veth peer name ib0-end && ip link set ib0-end up && ip addr add 10.88.0.${i + 1}/24 dev ib0 && ip link set ib0 up`,
      )
    const { code, out } = await start(cluster.conf({ PADDLE_NIC: 'ib0' })).ended
    expect([code, out]).toEqual([
      2,
      expect.stringMatching(/^root@10\.77\.3\.2: it has no network interface ib0 with an address; it has lo, eth0\./),
    ])
  })

  test('a wrong key, a host key that has changed, one that is not known', async () => {
    const other = join(cluster.folder, 'other-key')
    const key = newKey(other)
    const [first, ...rest] = cluster.ssh.known.trimEnd().split('\n') as [string, ...string[]]
    const config = (name: string, changes: Parameters<TestCluster['ssh']['configWith']>[1]) => ({
      OARFISH_SSH: `ssh -F ${cluster.ssh.configWith(name, changes)}`,
    })
    const dispatch = [`--job_dispatch_package=${work}`]
    const runs = await Promise.all([
      start(cluster.conf(), dispatch, config('wrong', { key: other })).ended,
      start(
        cluster.conf(),
        dispatch,
        config('changed', { known: [`${first.split(' ')[0]} ${key}`, ...rest, ''].join('\n') }),
      ).ended,
      start(cluster.conf(), dispatch, config('unknown', { known: [...rest, ''].join('\n') })).ended,
    ])
    expect(runs.map(({ code }) => code)).toEqual([2, 2, 2])
    const [wrong, changed, unknown] = runs.map(({ out }) => out) as [string, string, string]
    expect(wrong.match(/it refuses the key/g)).toHaveLength(4)
    expect(wrong).toContain('ssh-copy-id root@10.77.3.2')
    expect(changed).toMatch(/^root@10\.77\.0\.2: its host key has changed[\s\S]*ssh-keygen -R 10\.77\.0\.2/)
    expect(unknown).toMatch(
      /^root@10\.77\.0\.2: its host key is not known here\.\n {2}Compare and accept it once: ssh root@10\.77\.0\.2 true/,
    )
  })

  test('a disk without room, one that turns out to be full, a folder that is not there', async () => {
    writeFileSync(join(work, 'data/ratings'), Buffer.alloc(1_000_000, Math.random().toString()))
    const root = join(cluster.ssh.home, 'small')
    for (const i of [0, 1]) cluster.on(i, 'mkdir small')
    cluster.on(2, 'mkdir small && mount -t tmpfs -o size=256k tmpfs small')
    const { code, out } = await start(cluster.conf({ ROOT_DIR: root })).ended
    expect(code).toBe(2)
    expect(out).toMatch(/^root@10\.77\.3\.2: ROOT_DIR \S+\/small cannot be used: it does not exist\./)
    cluster.on(3, 'mkdir small')
    const small = await start(cluster.conf({ ROOT_DIR: root })).ended
    expect([small.code, small.out]).toEqual([
      2,
      expect.stringMatching(/root@10\.77\.2\.2: \S+\/small has room for \d+\.\d kB/),
    ])
    // Bytes enough, but no room for so many files: only the upload itself can tell.
    cluster.on(2, 'umount small && mount -t tmpfs -o size=4m,nr_inodes=5 tmpfs small')
    const full = await start(cluster.conf({ ROOT_DIR: root })).ended
    expect([full.code, full.out]).toEqual([2, expect.stringContaining('root@10.77.2.2: the disk is full')])
    expect(cluster.on(1, 'ls small')).toBe('')
  })

  test('a host without oarfish gets it by --install, once', async () => {
    const { name } = cluster.hosts[2]!
    rmSync(join(cluster.folder, 'programs', name, 'oarfish'))
    const there = ['--job_workspace=/missing']
    const lacks = await start(cluster.conf(), there).ended
    expect([lacks.code, lacks.out]).toEqual([
      2,
      expect.stringMatching(/^root@10\.77\.2\.2: oarfish is not installed\.\n.*--install/),
    ])
    const first = await start(cluster.conf(), [...there, '--install']).ended
    expect(first.out).toContain('root@10.77.2.2: installing oarfish')
    expect(first.out.match(/there is no \/missing/g)).toHaveLength(4)
    const second = await start(cluster.conf(), [...there, '--install']).ended
    expect(second.out).not.toContain('installing')
    const { version } = JSON.parse(readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'))
    // What computes is there too.
    const check = `cd .oarfish/${version}/node_modules/oarfish && node -e "import('onnxruntime-node').then(o => console.log(typeof o.InferenceSession))"`
    expect(cluster.on(2, `.oarfish/bin/oarfish --version && ${check}`)).toBe(`${version}\nfunction`)
    cluster.on(2, "mkdir -p bin && printf '#!/bin/sh\\necho 0.0.1\\n' > .oarfish/bin/oarfish")
    const other = await start(cluster.conf(), there).ended
    expect([other.code, other.out]).toEqual([
      2,
      expect.stringContaining('root@10.77.2.2: it has oarfish 0.0.1, here is'),
    ])
    cluster.on(2, 'rm -r .oarfish')
    standIn(name)
  })

  test('different versions of Node.js', async () => {
    const preload = join(cluster.folder, 'other-version.cjs')
    writeFileSync(preload, "Object.defineProperty(process, 'version', { value: 'v18.0.0' })\n")
    cluster.program(cluster.hosts[1]!.name, 'node', `exec ${process.execPath} -r ${preload} "$@"`)
    const { code, out } = await start(cluster.conf()).ended
    rmSync(join(cluster.folder, 'programs', cluster.hosts[1]!.name, 'node'))
    expect([code, out]).toEqual([2, expect.stringContaining('The hosts have different versions of Node.js.')])
    expect(out).toContain('v18.0.0: root@10.77.1.2')
  })

  test('a host that goes down in the midst of a job, and one that is down from the start', async () => {
    plan('wait')
    const quick = { OARFISH_SSH: `ssh -F ${cluster.ssh.config} -o ServerAliveInterval=1 -o ServerAliveCountMax=2` }
    const run = start(cluster.conf(), [`--job_dispatch_package=${work}`, '--stop_timeout=2', '--host_timeout=2'], quick)
    const job = await jobOf(run)
    await run.printed(/worker 3 runs/)
    cluster.hosts[3]!.unplug()
    const { code, out } = await run.ended
    expect([code, out]).toEqual([1, expect.stringContaining('root@10.77.3.2: the connection was lost')])
    expect(out).toContain('root@10.77.3.2 did not come back within 2 s, and the job ends.')
    expect([0, 1, 2].map((i) => cluster.processes(i, job))).toEqual([[], [], []])
    const down = await start(cluster.conf(), [`--job_dispatch_package=${work}`, '--connect_timeout=1']).ended
    expect([down.code, down.out]).toEqual([2, expect.stringMatching(/^root@10\.77\.3\.2: it does not answer\.\n/)])
    const quickly = { OARFISH_SSH: `ssh -F ${cluster.ssh.config} -o ConnectTimeout=1` }
    const stopped = await cluster.oarfish(['stop', job], quickly).ended
    expect([stopped.code, stopped.out]).toEqual([2, expect.stringContaining('root@10.77.0.2: 0 processes ended')])
    expect(stopped.out).toContain('root@10.77.3.2: it does not answer.')
  })
})
