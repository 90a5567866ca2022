/** @file Two hosts in network namespaces with sshd each, a working folder with a model, and a job server that runs jobs there by mpirun. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBackend, yamlBlocks } from '../config-v1/blocks.testing.ts'
import { type Host, networkTools, openNetwork } from '../netns/network.testing.ts'
import { openSsh, type SshOptions } from '../netns/ssh.testing.ts'

export const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Why there can be no such cluster here; undefined: there can. */
export function mpiTools(): string | undefined {
  const without = networkTools()
  if (without) return without
  try {
    execFileSync(process.execPath, [at('scripts/mpi-tools.mjs')], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr)
  }
}

export interface Finished {
  readonly code: number
  readonly text: string
}

export interface MpiCluster {
  readonly hosts: readonly Host[]
  /** Added to the environment of commands. */
  readonly env: Record<string, string>
  /** Fresh for each test by `begin`: work/ has the model, remote/train its data, hosts is mpirun's hostfile. */
  folder(): string
  begin(): void
  end(): void
  /** Starts the command on the first host, in work/. */
  start(...args: readonly string[]): ChildProcess
  /** Runs it to its end. */
  oarfish(...args: readonly string[]): Promise<Finished>
  /** Starts a job server on the first host, by mpirun unless flags say otherwise; resolves to the keys of a user of group ctr. */
  serve(...flags: readonly string[]): Promise<{ ak: string; sk: string }>
  close(): void
}

export async function openMpiCluster(name: string, options: SshOptions = {}): Promise<MpiCluster> {
  const network = await openNetwork({ name, hosts: 2 })
  const ssh = await openSsh(network.hosts, options)
  const host = network.hosts[0]!
  let folder = ''
  const more: Record<string, string> = {}
  let server: ChildProcess | undefined
  const start = (args: readonly string[]) => {
    const env = {
      ...process.env,
      HOME: join(folder, 'home'),
      PATH: [at('bin/path'), process.env['PATH']].join(delimiter),
      OMPI_MCA_plm_rsh_agent: `ssh -F ${ssh.config}`,
      OMPI_MCA_btl_tcp_if_include: 'eth0',
      ...more,
    }
    return host.spawn(process.execPath, [at('bin/oarfish.js'), ...args], { cwd: join(folder, 'work'), env })
  }
  const oarfish = async (...args: readonly string[]) => {
    const child = start(args)
    let text = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece) => (text += piece))
    const timer = setTimeout(() => child.kill('SIGKILL'), 200_000)
    const code = await new Promise<number>((done) => child.once('close', (exit) => done(exit ?? -1)))
    clearTimeout(timer)
    return { code, text }
  }
  return {
    hosts: network.hosts,
    env: more,
    folder: () => folder,
    begin: () => {
      folder = newFolder(network.hosts)
    },
    end: () => {
      server?.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
    start: (...args) => start(args),
    oarfish,
    serve: async (...flags) => {
      const dir = join(folder, 'server')
      await oarfish('cloud', 'group', 'add', 'ctr', '--quota', '4', '--dir', dir)
      const { text } = await oarfish('cloud', 'user', 'add', 'me', '--group', 'ctr', '--dir', dir)
      const byMpirun = ['--executor', 'mpi', '--hostfile', join(folder, 'hosts')]
      server = start(['cloud', 'serve', '--dir', dir, ...(flags.length > 0 ? flags : byMpirun)])
      await firstOutput(server)
      return { ak: /ak: (\w+)/.exec(text)![1]!, sk: /sk: (\w+)/.exec(text)![1]! }
    },
    close: () => {
      ssh.close()
      network.close()
    },
  }
}

function newFolder(hosts: readonly Host[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'mpi-job-'))
  mkdirSync(join(folder, 'work'))
  cpSync(at('models/rank/dnn'), join(folder, 'work'), { recursive: true, filter: (path) => /(dnn|\.ts)$/.test(path) })
  mkdirSync(join(folder, 'remote/train'), { recursive: true })
  for (const part of ['part-000', 'part-001']) {
    const text = readFileSync(at(`models/rank/dnn/data/sample_data/train/${part}`), 'utf8')
    writeFileSync(join(folder, 'remote/train', part), `${text.split('\n').slice(0, 60).join('\n')}\n`)
  }
  writeFileSync(join(folder, 'hosts'), hosts.map(({ address }) => `${address} slots=1\n`).join(''))
  return folder
}

export function firstOutput(child: ChildProcess, within = 30_000): Promise<string> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error('it did not start')), within)
    child.stdout!.on('data', (text) => {
      clearTimeout(timer)
      done(String(text))
    })
    child.once('exit', (code) => fail(new Error(`it ended with exit code ${code}`)))
  })
}

/** Where there is no guide: jobs in its form. */
const OWN = ['ps', 'collective']
  .map(
    (mode) => `
\`\`\`yaml
workspace: "./"
mode: [cluster]
dataset:
- name: dataloader_train
  batch_size: 2
  type: DataLoader
  data_path: "{workspace}/train_data"
  sparse_slots: "click ${Array.from({ length: 26 }, (_, i) => i + 1).join(' ')}"
  dense_slots: "dense_var:13"
runner:
- {name: cluster, class: cluster_train, epochs: 2, device: cpu, fleet_mode: ${mode}, print_interval: 1, save_checkpoint_path: "increment_dnn", phases: [phase1]}
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
`,
  )
  .join('')

export interface GuideJob {
  readonly name: string
  readonly config: string
  readonly backend: string
}

/** Each config of the guide with its backend, those for MPI; and its collective job, which PaddleRec has on Kubernetes only, with the last of these backends. */
export function guideJobs(): readonly GuideJob[] {
  const seed = process.env['OARFISH_SEEDS']
  const text = seed ? readFileSync(join(seed, readdirSync(seed).find((name) => name.startsWith('000'))!), 'utf8') : OWN
  const blocks = yamlBlocks(text)
  const isJob = (block: string) => /class: cluster_train/.test(block)
  const onMpi = blocks.flatMap((backend, i) => {
    if (!isBackend(backend) || !/cluster_type: mpi/i.test(backend)) return []
    const config = blocks.slice(0, i).findLast(isJob)
    return config && /fleet_mode: ps/.test(config) ? [{ config, backend }] : []
  })
  const collective = blocks.find((block) => isJob(block) && /fleet_mode: collective/.test(block))!
  return [
    ...onMpi.map((job, i) => ({ ...job, name: `job ${i + 1} of the guide` })),
    { config: collective, backend: onMpi.at(-1)!.backend, name: 'the collective job of the guide, on MPI' },
  ]
}

/** A backend of the guide with these values in place of what it leaves open; it need not have a `start_cmd`. */
export function filled(backend: string, values: Readonly<Record<string, string>>): string {
  const hasCommand = values['start_cmd'] === undefined || /^ +start_cmd:/m.test(backend)
  const whole = hasCommand ? backend : backend.replace(/^submit:\n/m, 'submit:\n  start_cmd: ""\n')
  return whole.replaceAll(/^( +)(\w+): .*$/gm, (line, indent: string, key: string) =>
    values[key] === undefined ? line : `${indent}${key}: "${values[key]}"`,
  )
}
