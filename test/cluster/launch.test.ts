/** @file Launchers with real processes: environment, sockets, logs, failures, Ctrl+C, and that nobody stays behind. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectWithin } from '../within.testing.ts'
import { ACTOR, alive, eventsOf, noneAlive, ofKind, run } from './launch.testing.ts'

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'oarfish-launch-'))
})
afterEach(() => rm(cwd, { recursive: true, force: true }))

// Plain Node starts faster than `oarfish exec`, which a script of its own would go through.
const PROGRAM = [process.execPath, ACTOR]
const TWO = ['--worker_num=2', '--server_num=2', '--json', ...PROGRAM]
const logOf = async (name: string, folder = 'log') => await readFile(join(cwd, folder, name), 'utf8')
const envOf = async (name: string, folder = 'log') => JSON.parse((await logOf(name, folder)).split('\n')[1]!)

describe('fleetrun', () => {
  test('gives each process its environment, one token, and an automatic port as an open socket', async () => {
    const { code, mark } = await run('fleetrun', [...TWO, 'worker=env', 'server=env+stay'], { cwd })
    expect(code).toBe(0)
    expect(alive(mark)).toEqual([])
    expect((await readdir(join(cwd, 'log'))).sort()).toEqual([
      'serverlog.0',
      'serverlog.1',
      'workerlog.0',
      'workerlog.1',
    ])
    const [server, worker] = [await envOf('serverlog.1'), await envOf('workerlog.1')]
    const endpoints = /^127\.0\.0\.1:\d+,127\.0\.0\.1:\d+$/
    expect(worker).toEqual({
      PADDLE_PSERVERS_IP_PORT_LIST: expect.stringMatching(endpoints),
      PADDLE_TRAINER_ENDPOINTS: expect.stringMatching(endpoints),
      PADDLE_COORDINATOR_ENDPOINTS: '',
      PADDLE_PORT: worker.PADDLE_TRAINER_ENDPOINTS.split(/[:,]/)[3],
      POD_IP: '127.0.0.1',
      TRAINING_ROLE: 'TRAINER',
      PADDLE_TRAINERS_NUM: '2',
      PADDLE_TRAINER_ID: '1',
      PADDLE_WITH_GLOO: '0',
      PADDLE_GLOO_RENDEZVOUS: '3',
      PADDLE_GLOO_FS_PATH: expect.any(String),
      PADDLE_GLOO_HTTP_ENDPOINT: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      FLAGS_selected_gpus: '0',
      FLAGS_selected_xpus: '0',
      CUDA_VISIBLE_DEVICES: '0',
      XPU_VISIBLE_DEVICES: '0',
      OARFISH_DEVICE: '',
      OARFISH_JOB_ID: expect.stringMatching(/^[0-9a-f]{12}$/),
      OARFISH_JOB_TOKEN: expect.stringMatching(/^[0-9a-f]{64}$/),
      OARFISH_LISTEN_FDS: `${worker.PADDLE_PORT}:4`,
      OARFISH_LIFELINE: expect.stringMatching(/^\d+:3$/),
      OARFISH_RUN_NAME: expect.stringMatching(/^\d{8}-\d{6}-\w+-[0-9a-f]{4}$/),
      OARFISH_LOG_FILE: expect.stringMatching(/workerlog\.1$/),
      OARFISH_TEST_MARK: mark,
    })
    expect(server).toMatchObject({ TRAINING_ROLE: 'PSERVER', OARFISH_JOB_TOKEN: worker.OARFISH_JOB_TOKEN })
    expect(server.OARFISH_LISTEN_FDS).toBe(`${server.PADDLE_PORT}:4`)
    expect('PADDLE_TRAINER_ID' in server || 'CUDA_VISIBLE_DEVICES' in server).toBe(false)
  })

  test('a worker reaches every server at once, though they are slow to answer', async () => {
    const { code } = await run('fleetrun', [...TWO, 'worker=ask', 'server=answer'], { cwd })
    expect(code).toBe(0)
    const [first, second] = (await logOf('workerlog.0')).split('\n').slice(1)
    expect(first).toMatch(/^127\.0\.0\.1:\d+ is server 0$/)
    expect(second).toMatch(/^127\.0\.0\.1:\d+ is server 1$/)
  })

  test('explicit ports stay as they are and are left to the processes', async () => {
    const env = { FLAGS_START_PORT: '7000', http_proxy: 'http://proxy', OARFISH_JOB_TOKEN: 'secret' }
    const { code } = await run('fleetrun', [...TWO, 'worker=env', 'server=env'], { cwd, env })
    expect(code).toBe(0)
    const worker = await envOf('workerlog.0')
    expect(worker).toMatchObject({
      PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:7000,127.0.0.1:7001',
      PADDLE_TRAINER_ENDPOINTS: '127.0.0.1:7002,127.0.0.1:7003',
      PADDLE_GLOO_HTTP_ENDPOINT: '127.0.0.1:7004',
      OARFISH_JOB_TOKEN: 'secret',
    })
    expect('OARFISH_LISTEN_FDS' in worker).toBe(false)
  })

  test('rank r is entry r of the list on every host; each host starts its own and waits for its servers', async () => {
    const lists = [
      '--servers=127.0.0.1:7000,127.0.0.2:7000',
      '--workers=127.0.0.1,127.0.0.2,127.0.0.1',
      '--json',
      ...PROGRAM,
    ]
    const launchOn = async (host: string) => {
      const args = [...lists, 'worker=env', 'server=env+brief']
      const result = await run('fleetrun', ['--log_dir', host, ...args], { cwd, env: { POD_IP: host } })
      return { ...result, events: eventsOf(result) }
    }
    const [one, two] = await Promise.all(['127.0.0.1', '127.0.0.2'].map(launchOn))
    expect([one!.code, two!.code]).toEqual([0, 0])
    const ranks = ({ events }: typeof one & object) =>
      ofKind(events, 'process')
        .filter(({ state }) => state === 'running')
        .map(({ role, rank, endpoint }) => `${role} ${rank} ${endpoint}`)
    expect(ranks(one!)).toEqual(['server 0 127.0.0.1:7000', 'worker 0 127.0.0.1:6172', 'worker 2 127.0.0.1:6174'])
    expect(ranks(two!)).toEqual(['server 1 127.0.0.2:7000', 'worker 1 127.0.0.2:6173'])
    // Logs are numbered on each host.
    expect(await envOf('workerlog.1', '127.0.0.1')).toMatchObject({ PADDLE_TRAINER_ID: '2', PADDLE_PORT: '6174' })
    expect(await envOf('workerlog.0', '127.0.0.2')).toMatchObject({ PADDLE_TRAINER_ID: '1', POD_IP: '127.0.0.2' })
    expect('OARFISH_JOB_TOKEN' in (await envOf('serverlog.0', '127.0.0.2'))).toBe(false)
    // Nobody asked the servers to stop: the other host's workers may still need them.
    expect(ofKind(one!.events, 'process').some(({ state }) => state === 'stopping')).toBe(false)
  })

  test('prints what worker 0 prints, and what happens to the others, as plain lines', async () => {
    const { code, out } = await run('fleetrun', [...TWO.filter((word) => word !== '--json'), 'server=stay'], { cwd })
    expect(code).toBe(0)
    expect(out).toMatch(/^server 0 runs \(pid \d+\) on 127\.0\.0\.1:\d+, output in log\/serverlog\.0$/m)
    expect(out).toMatch(/^worker 0 began$/m)
    expect(out).not.toMatch(/^(worker 1|server \d) began$/m)
    expect(out).toMatch(/^worker 1 is done \(pid \d+\)$/m)
  })

  test('stops the job when a worker fails, says who was first and how, with its last lines', async () => {
    const { code, out, mark } = await run('fleetrun', [...TWO, 'worker.0=stay', 'worker.1=fail', 'server=stay'], {
      cwd,
    })
    expect(code).toBe(3)
    expect(alive(mark)).toEqual([])
    const [error] = ofKind(eventsOf({ out }), 'error')
    expect(error!.code).toBe('LAUNCH_PROCESS_FAILED')
    expect(error!.message).toMatch(/^worker 1 127\.0\.0\.1:\d+ \(pid \d+\) failed first: exit code 3\. /)
    expect(error!.hint).toBe('The end of log/workerlog.1:\nworker 1 began\nreading part-7\nthis is why')
    const ends = ofKind(eventsOf({ out }), 'process').filter(({ exit }) => exit)
    expect(ends.map(({ role, rank, state }) => `${role} ${rank} ${state}`).sort()).toEqual([
      'server 0 stopped',
      'server 1 stopped',
      'worker 0 stopped',
      'worker 1 failed',
    ])
  })

  test('a server killed by a signal stops the job too, and whoever ignores SIGTERM is killed after a while', async () => {
    const { code, out, mark } = await run('fleetrun', [...TWO, 'worker=stubborn', 'server.0=stay', 'server.1=die'], {
      cwd,
    })
    expect(code).toBe(137)
    expect(alive(mark)).toEqual([])
    expect(ofKind(eventsOf({ out }), 'error')[0]!.message).toMatch(/^server 1 .* failed first: signal SIGKILL\./)
    expect(await logOf('workerlog.0')).toContain('ignores SIGTERM')
    expect(out).toContain('"exit":"signal SIGKILL"')
  })

  test('servers that do not leave by themselves are gone within two seconds of the last worker', async () => {
    let doneAt = 0
    const { code, mark } = await run('fleetrun', [...TWO, 'worker=brief', 'server=stubborn'], {
      cwd,
      onOutput: (all) => {
        if (doneAt === 0 && all.match(/"state":"done"/g)?.length === 2) doneAt = performance.now()
      },
    })
    expect([code, alive(mark)]).toEqual([0, []])
    await expectWithin(performance.now() - doneAt, 2000)
  })

  const interrupts = [
    { name: 'Ctrl+C', signals: 1, atMost: 5 },
    { name: 'a second Ctrl+C, at once,', signals: 2, atMost: 2 },
  ]
  test.each(interrupts)('$name leaves no process behind, not even one that ignores it', async ({ signals, atMost }) => {
    let [at, sent] = [0, 0]
    const { code, mark } = await run(
      'fleetrun',
      ['--stop_timeout=2', ...TWO, 'worker=parent+stubborn', 'server=stubborn'],
      {
        cwd,
        onOutput: (all, launcher) => {
          // Signals that come at once are one: the second is sent when the first has reached the workers.
          const next = ['stands firm', 'ignores SIGTERM'][sent]!
          if (sent === signals || !all.includes(next)) return
          at ||= performance.now()
          sent++
          launcher.kill('SIGINT')
        },
      },
    )
    const seconds = (performance.now() - at) / 1000
    expect(code).toBe(130)
    expect(await noneAlive(mark)).toEqual([])
    expect(await logOf('workerlog.0')).toContain('ignores SIGTERM')
    await expectWithin(1000 * seconds, 1000 * atMost)
  })

  test('what a worker left running ends with it', async () => {
    const { code, mark } = await run('fleetrun', [...TWO, 'worker=parent', 'server=stay'], { cwd })
    expect([code, await noneAlive(mark)]).toEqual([0, []])
  })

  test('a launcher that is killed takes its processes with it', async () => {
    const args = ['--worker_num=1', '--server_num=1', '--json', ACTOR, 'worker=stay', 'server=stay']
    const { code, mark } = await run('fleetrun', args, {
      cwd,
      onOutput: (all, launcher) => {
        if (all.includes('worker 0 began')) launcher.kill('SIGKILL')
      },
    })
    expect(code).toBe(null)
    expect(await noneAlive(mark)).toEqual([])
  })

  test('a pod whose scheduler said who it is runs the program once, as it is', async () => {
    const env = {
      PADDLE_TRAINERS: 'a,b',
      POD_IP: 'b',
      PADDLE_TRAINER_ID: '1',
      TRAINER_PORTS_NUM: '20',
      TRAINING_ROLE: 'TRAINER',
    }
    const { code, out } = await run('fleetrun', [...TWO, 'worker=env+fail'], { cwd, env })
    expect(code).toBe(3)
    expect(ofKind(eventsOf({ out }), 'process').filter(({ state }) => state === 'running')).toHaveLength(1)
    expect(await envOf('workerlog.0')).not.toHaveProperty('PADDLE_PSERVERS_IP_PORT_LIST')
  })

  test.each<[string[], RegExp]>([
    [
      ['--servers=203.0.113.7:1', '--workers=203.0.113.7:2', ACTOR],
      /^None of the endpoints is of this host: 203\.0\.113\.7\. This host is localhost, /,
    ],
    [['--servers=127.0.0.1:1', '--workers=203.0.113.7:2', ACTOR], /^127\.0\.0\.1 means another machine on every host/],
    [['--server_num=1', '--worker_num=1', 'tools/static_ps_trianer.py'], /did you mean tools\/static_ps_trainer\.py\?/],
    [['--server_num=1', '--worker_num=1', 'nowhere/run.py'], /^There is no nowhere\/run\.py, nor nowhere\/run\.ts\./],
    [
      ['--server_num=1', '--worker_num=1', '--heter_devices=gpu', ACTOR],
      /^--heter_devices: heterogeneous training is not part/,
    ],
    [['--worker_nm=1', ACTOR], /^error: unknown option '--worker_nm=1'\n\(Did you mean --worker_num\?\)/],
    [['--worker_num=two', ACTOR], /--worker_num: expected a number of workers or min:max, got "two"/],
  ])('%j is refused with exit code 2 before anything starts', async (args, message) => {
    const { code, out, err } = await run('fleetrun', args, { cwd })
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(message)
    expect(await readdir(cwd)).toEqual([])
  })
})

describe('oarfish launch_ps', () => {
  test("starts servers and workers with Paddle 1.x's environment, its logs in logs/", async () => {
    await writeFile(join(cwd, 'dist_train.ts'), `await import(${JSON.stringify(ACTOR)})\n`)
    const args = ['launch_ps', '--worker_num', '2', '--server_num', '2', '--start_port', '8123', 'dist_train.py']
    const { code, out } = await run('oarfish', [...args, 'worker=env', 'server=env+stay'], { cwd })
    expect(code).toBe(0)
    expect(out).toMatch(/^-{11} {2}Configuration Arguments -{11}\ncluster_node_ips: 127\.0\.0\.1\nendpoints: \n/)
    expect(out).toContain('dist_train.py worker=env server=env+stay runs as: oarfish exec dist_train.ts worker=env')
    const servers = '127.0.0.1:8123,127.0.0.1:8124'
    const [server, worker] = [await envOf('serverlog.1', 'logs'), await envOf('workerlog.1', 'logs')]
    expect(server).toMatchObject({ PADDLE_PSERVERS_IP_PORT_LIST: servers, PADDLE_PORT: '8124', POD_IP: '127.0.0.1' })
    expect(worker).toMatchObject({
      PADDLE_PSERVERS_IP_PORT_LIST: servers,
      PADDLE_TRAINER_ID: '1',
      PADDLE_TRAINERS_NUM: '2',
    })
    expect('PADDLE_PORT' in worker || 'PADDLE_TRAINER_ENDPOINTS' in worker).toBe(false)
  })
})
