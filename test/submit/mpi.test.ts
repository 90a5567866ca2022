/** @file The MPI jobs of PaddleRec's guide: submitted to a job server, run by mpirun on two hosts over ssh, to a trained model and its output. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isBackend, yamlBlocks } from '../config-v1/blocks.testing.ts'
import { type Host, type Network, networkTools, openNetwork } from '../netns/network.testing.ts'
import { openSsh, type SshHosts } from '../netns/ssh.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const tools = (script: string) => {
  try {
    execFileSync(process.execPath, [at(script)], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr)
  }
}
const lacking = networkTools() ?? tools('scripts/mpi-tools.mjs')
if (lacking) console.warn(`skipped: ${lacking}`)

const seed = process.env['OARFISH_SEEDS']
/** Where there is no guide: a job in its form. */
const OWN = `
\`\`\`yaml
workspace: "./"
mode: [ps_cluster]
dataset:
- name: dataloader_train
  batch_size: 2
  type: DataLoader
  data_path: "{workspace}/train_data"
  sparse_slots: "click ${Array.from({ length: 26 }, (_, i) => i + 1).join(' ')}"
  dense_slots: "dense_var:13"
runner:
- {name: ps_cluster, class: cluster_train, epochs: 2, device: cpu, fleet_mode: ps, save_checkpoint_path: "increment_dnn", phases: [phase1]}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: dataloader_train, thread_num: 1}
\`\`\`
\`\`\`yaml
backend: "PaddleCloud"
cluster_type: mpi
config:
  fs_name: "afs://xxx.com"
  fs_ugi: "usr,pwd"
  output_path: ""
  train_data_path: ""
submit:
  ak: ""
  sk: ""
  group: ""
  files: ./*.py ./*.yaml
  nodes: 2
\`\`\`
`
const guide = seed ? readFileSync(join(seed, readdirSync(seed).find((name) => name.startsWith('000'))!), 'utf8') : OWN

describe.skipIf(lacking)(`jobs on two hosts by mpirun ${lacking ?? ''}`, { timeout: 180_000 }, () => {
  let network: Network
  let ssh: SshHosts
  let folder: string
  let host: Host
  let server: ChildProcess | undefined

  beforeAll(async () => {
    network = await openNetwork({ name: 'submit', hosts: 2 })
    ssh = await openSsh(network.hosts)
    host = network.hosts[0]!
  }, 60_000)
  afterAll(() => {
    ssh?.close()
    network?.close()
  })
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mpi-job-'))
    mkdirSync(join(folder, 'work'))
    cpSync(at('models/rank/dnn'), join(folder, 'work'), { recursive: true, filter: (path) => /(dnn|\.ts)$/.test(path) })
    mkdirSync(join(folder, 'remote/train'), { recursive: true })
    for (const part of ['part-000', 'part-001']) {
      const text = readFileSync(at(`models/rank/dnn/data/sample_data/train/${part}`), 'utf8')
      writeFileSync(join(folder, 'remote/train', part), `${text.split('\n').slice(0, 60).join('\n')}\n`)
    }
    writeFileSync(join(folder, 'hosts'), network.hosts.map(({ address }) => `${address} slots=1\n`).join(''))
  })
  afterEach(() => {
    server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [i, { config, backend }] of mpiJobs(guide).entries()) {
    test(`job ${i + 1} of the guide, with only file system, paths, group and keys filled in`, async () => {
      const keys = await serve()
      writeFileSync(join(folder, 'work/config.yaml'), config)
      writeFileSync(join(folder, 'work/backend.yaml'), filled(backend, keys))
      const { code, text } = await oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
      expect([code, text]).toEqual([0, expect.stringContaining('Congratulations! Job configuration check passed!')])
      const id = /"jobId": "([^"]+)"/.exec(text)![1]!
      await oarfish('logs', id, '-f')
      const status = await oarfish('status', id)
      expect(status.text).toContain('succeeded')
      const output = join(folder, 'remote/out')
      expect(readdirSync(join(output, 'increment_dnn')).length).toBeGreaterThan(0)
      expect(readFileSync(join(output, 'log/trainer.1.log'), 'utf8')).toMatch(/auc/i)
      expect(existsSync(join(output, 'log/pserver.1.log'))).toBe(true)
      const prepared = readdirSync(join(folder, 'work')).find((name) => /_\d{12}/.test(name))!
      expect(readdirSync(join(folder, 'work', prepared))).toEqual(
        expect.arrayContaining([
          'backend.yaml',
          'before_hook.sh',
          'config.ini',
          'config.yaml',
          'end_hook.sh',
          'job.sh',
        ]),
      )
    })
  }

  test('without a server: backend MPI runs it from here, and a host that is down is named', async () => {
    const [{ config, backend }] = mpiJobs(guide) as [{ config: string; backend: string }]
    writeFileSync(join(folder, 'work/config.yaml'), config)
    const direct = filled(backend, { ak: '', sk: '' }).replace(/backend: "?PaddleCloud"?/, 'backend: MPI')
    const withHosts = (file: string) => direct.replace(/^submit:\n/m, `submit:\n  hostfile: ${join(folder, file)}\n`)
    writeFileSync(join(folder, 'work/backend.yaml'), withHosts('hosts'))
    const { code, text } = await oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
    expect([code, text]).toEqual([0, expect.stringMatching(/job-\w+ succeeded/)])
    writeFileSync(join(folder, 'down'), `${host.address} slots=1\n10.77.9.9 slots=1\n`)
    writeFileSync(join(folder, 'work/backend.yaml'), withHosts('down'))
    const down = await oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
    expect(down.code).not.toBe(0)
    expect(down.text).toContain('10.77.9.9')
  })

  async function serve(): Promise<{ ak: string; sk: string }> {
    const dir = join(folder, 'server')
    await oarfish('cloud', 'group', 'add', 'ctr', '--quota', '4', '--dir', dir)
    const { text } = await oarfish('cloud', 'user', 'add', 'me', '--group', 'ctr', '--dir', dir)
    const child = start('cloud', 'serve', '--dir', dir, '--executor', 'mpi', '--hostfile', join(folder, 'hosts'))
    server = child
    await new Promise<void>((done, fail) => {
      const timer = setTimeout(() => fail(new Error('the job server did not start')), 30_000)
      child.stdout!.on('data', () => {
        clearTimeout(timer)
        done()
      })
    })
    return { ak: /ak: (\w+)/.exec(text)![1]!, sk: /sk: (\w+)/.exec(text)![1]! }
  }

  function start(...args: readonly string[]): ChildProcess {
    const env = {
      ...process.env,
      HOME: join(folder, 'home'),
      PATH: [at('bin/path'), process.env['PATH']].join(delimiter),
      OMPI_MCA_plm_rsh_agent: `ssh -F ${ssh.config}`,
      OMPI_MCA_btl_tcp_if_include: 'eth0',
    }
    return host.spawn(process.execPath, [at('bin/oarfish.js'), ...args], { cwd: join(folder, 'work'), env })
  }

  async function oarfish(...args: readonly string[]): Promise<{ code: number; text: string }> {
    const child = start(...args)
    let text = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece) => (text += piece))
    const timer = setTimeout(() => child.kill('SIGKILL'), 120_000)
    const code = await new Promise<number>((done) => child.once('close', (exit) => done(exit ?? -1)))
    clearTimeout(timer)
    return { code, text }
  }

  function filled(backend: string, { ak, sk }: { ak: string; sk: string }): string {
    const values: Readonly<Record<string, string>> = {
      ...{ fs_name: `file://${folder}/remote`, output_path: '/out', train_data_path: '/train', group: 'ctr', ak, sk },
    }
    return backend.replaceAll(/^( +)(\w+): .*$/gm, (line, indent: string, key: string) =>
      values[key] === undefined ? line : `${indent}${key}: "${values[key]}"`,
    )
  }
})

/** Each config with its backend: those that are for MPI. */
function mpiJobs(text: string): readonly { config: string; backend: string }[] {
  const blocks = yamlBlocks(text)
  return blocks.flatMap((backend, i) => {
    if (!isBackend(backend) || !/cluster_type: mpi/i.test(backend)) return []
    const config = blocks.slice(0, i).findLast((block) => /class: cluster_train/.test(block))
    return config ? [{ config, backend }] : []
  })
}
