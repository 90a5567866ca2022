/** @file The same fleetrun command on two hosts, as PaddleRec's documents have it: one job, ranks by the user's lists. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsOf, ofKind } from '../cluster/launch.testing.ts'
import { tinyFolder } from '../train/tiny.testing.ts'
import { type Host, type Network, networkTools, openNetwork } from './network.testing.ts'

const FLEETRUN = fileURLToPath(new URL('../../bin/fleetrun.js', import.meta.url))
const CONFIG = fileURLToPath(new URL('../../models/rank/dnn/config.yaml', import.meta.url))

const lacking = networkTools()
if (lacking !== undefined) console.warn(`netns is skipped: ${lacking}`)

const ownEnv = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(PADDLE|OARFISH|FLAGS)_|^POD_IP$/.test(name)))

describe.skipIf(lacking !== undefined)('netns: fleetrun on two hosts', () => {
  let folder: string
  let network: Network
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-two-hosts-'))
    network = await openNetwork({ name: 'psfleetrun', hosts: 2 })
  })
  afterAll(async () => {
    network?.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** The same command line wherever it is typed, but for the folder of the logs. */
  async function fleetrun(host: Host, lists: readonly string[]) {
    const command = ['tools/static_ps_trainer.py', '-m', CONFIG, '-o', `runner.model_save_path=${join(folder, 'out')}`]
    const args = [FLEETRUN, '--json', `--log_dir=${join(folder, host.name)}`, ...lists, ...command]
    const child = host.spawn(process.execPath, args, { cwd: folder, env: ownEnv() })
    let [out, err] = ['', '']
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    return { code, out, err }
  }

  test('rank r is entry r of the lists on both, all train one model, and servers end on both', async () => {
    const [a, b] = network.hosts.map(({ address }) => address)
    const lists = [`--servers=${b}:7000,${a}:7000`, `--workers=${a}:7100,${b}:7100,${a}:7101`]
    const runs = await Promise.all(network.hosts.map((host) => fleetrun(host, lists)))
    expect(
      runs.map(({ code }) => code),
      runs.map(({ out, err }) => out.slice(-2000) + err).join('\n'),
    ).toEqual([0, 0])
    const started = runs.map((run) =>
      ofKind(eventsOf(run), 'process').flatMap(({ state, role, rank, endpoint }) =>
        state === 'running' ? [`${role} ${rank} ${endpoint}`] : [],
      ),
    )
    expect(started).toEqual([
      [`server 1 ${a}:7000`, `worker 0 ${a}:7100`, `worker 2 ${a}:7101`],
      [`server 0 ${b}:7000`, `worker 1 ${b}:7100`],
    ])
    const logs = await Promise.all(
      network.hosts.map((host) => readFile(join(folder, host.name, 'workerlog.0'), 'utf8')),
    )
    const [auc, other] = logs.map((log) => /epoch: 2 done, .*auc: (0\.\d+)/.exec(log)?.[1])
    expect(auc).toMatch(/^0\.\d+/)
    expect(other).toBe(auc)
  })

  test('a job whose process is killed on one host starts again on both, and ends with every sample once', {
    timeout: 400_000,
  }, async () => {
    const tiny = await tinyFolder(3840)
    const out = join(tiny, 'out')
    const [a, b] = network.hosts.map(({ address }) => address)
    // On the second host the path of the checkpoints is another folder.
    const apart = (host: Host) =>
      host === network.hosts[1] ? `mkdir -p ${out} && mount -t tmpfs tmpfs ${out} && ` : ''
    const settings = [`runner.model_save_path=${out}`, 'runner.epochs=2', 'runner.snapshot_interval=10']
    const args = [
      ...['--json', `--servers=${a}:7200,${b}:7200`, `--workers=${a}:7300,${b}:7300`],
      ...['tools/static_ps_trainer.py', '-m', join(tiny, 'config.yaml'), '--json', '-o', ...settings],
    ]
    let killed = 0
    const outs = ['', '']
    const runs = network.hosts.map((host, i) => {
      const line = [process.execPath, FLEETRUN, `--log_dir=${join(tiny, host.name)}`, ...args].join(' ')
      const child = host.spawn('unshare', ['--mount', 'sh', '-c', `${apart(host)}exec ${line}`], {
        cwd: tiny,
        env: ownEnv(),
      })
      child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        outs[i] += text
        if (i !== 0 || killed > 0 || !/saved\\".*cut-0-/.test(outs[0]!)) return
        const events = eventsOf({ out: outs[1]!.slice(0, outs[1]!.lastIndexOf('\n') + 1) })
        killed = ofKind(events, 'process').find(({ role }) => role === 'server')!.pid
        process.kill(killed, 'SIGKILL')
      })
      child.stderr!.on('data', (text) => {
        outs[i] += text
      })
      return new Promise<number | null>((resolve) => child.on('close', resolve))
    })
    expect(await Promise.all(runs), outs.map((text) => text.slice(-4000)).join('\n')).toEqual([0, 0])
    expect(killed).toBeGreaterThan(0)
    expect(outs[0]).toContain('Starting again from the last cut')
    expect(outs[1]).toContain('Starting again with the other hosts')
    const told = ofKind(eventsOf({ out: outs[0]! }), 'output').flatMap(({ line }) =>
      line.startsWith('{') ? [JSON.parse(line)] : [],
    )
    const epochs = told.filter((event) => event.kind === 'epoch' && event.phase === 'train')
    expect(epochs.map(({ epoch, samples }) => [epoch, samples])).toEqual([
      [0, 2880],
      [1, 2880],
    ])
    const { tables } = JSON.parse(await readFile(join(out, '1/manifest.json'), 'utf8'))
    expect(tables[0].parts).toHaveLength(2)
    await rm(tiny, { recursive: true, force: true })
  })

  test('a host that no entry names is told so', async () => {
    const { code, err, out } = await fleetrun(network.hosts[0]!, ['--servers=10.77.1.2:1', '--workers=10.77.1.2:2'])
    expect(code, out + err).toBe(2)
    expect(out + err).toContain('None of the endpoints is of this host: 10.77.1.2. This host is')
    expect(out + err).toContain('10.77.0.2')
  })
})
