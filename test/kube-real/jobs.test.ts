/** @file PaddleRec's two jobs on a real cluster, as the guide has them: by `oarfish run -b`, and through the job server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, cluster, completed, evict, kubectl, logOf, oarfish, phaseOf, until } from './cluster.testing.ts'
import { processesOf, strangerIn } from './stranger.testing.ts'

const MINUTE = 60_000
const SEEDS = process.env['OARFISH_SEEDS']
const read = (name: string) => readFileSync(at(`test/kube-real/jobs/${name}.yaml`), 'utf8')
const KINDS = ['ps', 'collective'] as const
type Kind = (typeof KINDS)[number]

test.skipIf(!SEEDS || !existsSync(SEEDS))("the files beside this test are the guide's", () => {
  const guides = readdirSync(SEEDS!).map((name) => readFileSync(join(SEEDS!, name), 'utf8'))
  for (const kind of KINDS) {
    for (const file of ['config', 'backend']) {
      const text = read(`${kind}.${file}`)
      expect(guides.some((guide) => guide.includes(`\`\`\`yaml\n${text}\`\`\``))).toBe(true)
    }
  }
})

/** What a user of the guide fills in: paths, credentials, group; and core counts of small nodes. */
const filledIn = (kind: Kind, change: Readonly<Record<string, string>>) =>
  Object.entries({
    'fs_name: "afs://xxx.com"': `fs_name: "file://${cluster!.dir}/shared"`,
    'afs_remote_mount_point: ""': 'afs_remote_mount_point: "/data"',
    'group: ""': 'group: "default"',
    'k8s-cpu-cores: 4': 'k8s-cpu-cores: 1',
    'k8s_ps_cores: 4': 'k8s_ps_cores: 1',
    ...change,
  }).reduce((text, [from, to]) => text.replace(from, to), read(`${kind}.backend`))

describe.skipIf(!cluster)('a job of PaddleRec', () => {
  let folder: string
  let server: ChildProcess | undefined
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oarfish-jobs-'))
    const data = join(cluster!.dir, 'shared', 'data')
    cpSync(at('models/rank/dnn/data/sample_data/train'), join(data, 'train_data'), { recursive: true })
    for (const each of [data, join(data, 'train_data')]) chmodSync(each, 0o777) // pods run as user 1000
    const cards = JSON.stringify({
      status: { capacity: { 'nvidia.com/gpu': '1' }, allocatable: { 'nvidia.com/gpu': '1' } },
    })
    for (const node of cluster!.nodes)
      await kubectl('patch', 'node', node, '--subresource=status', '--type=merge', '-p', cards)
    await kubectl('apply', '-f', at('deploy/kubernetes/priorities.yaml'))
  }, MINUTE)
  afterAll(async () => {
    server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  /** The folder from which a user submits. */
  function workFolder(kind: Kind, name: string, change: Readonly<Record<string, string>>): string {
    const cwd = join(folder, name)
    mkdirSync(cwd)
    for (const file of readdirSync(at('models/rank/dnn')).filter((each) => each.endsWith('.ts')))
      cpSync(join(at('models/rank/dnn'), file), join(cwd, file))
    writeFileSync(join(cwd, 'config.yaml'), read(`${kind}.config`))
    const own = { 'job_name: "PaddleRec_CTR"': `job_name: "${name}"`, 'output_path: ""': `output_path: "/${name}"` }
    writeFileSync(join(cwd, 'backend.yaml'), filledIn(kind, { ...own, ...change }))
    return cwd
  }

  const direct = { 'backend: "PaddleCloud"': 'backend: "Kubernetes"' }

  async function submitted(cwd: string): Promise<string> {
    const begin = Date.now()
    const printed = await oarfish(['run', '-m', 'config.yaml', '-b', 'backend.yaml'], { cwd })
    console.log(`${printed}(${((Date.now() - begin) / 1000).toFixed(1)} s)`)
    return /"jobId": "([^"]+)"/.exec(printed)![1]!
  }

  const logs = (cwd: string, job: string, ...args: readonly string[]) => oarfish(['logs', job, ...args], { cwd })

  /** Follows a job to its end, and checks that its trainers have learned and left a model. */
  async function learned(kind: Kind, cwd: string, name: string, job: string): Promise<void> {
    const followed = await logs(cwd, job, '-f')
    const status = await oarfish(['status', job], { cwd })
    console.log(status)
    expect(status).toContain('succeeded')
    for (const rank of ['0', '1']) {
      const log = await logs(cwd, job, '--role', 'trainer', '--rank', rank)
      const losses = [...log.matchAll(/^epoch \d done, .*loss=\[([\d.]+)\]/gm)].map(([, loss]) => Number(loss))
      expect(losses, log).toHaveLength(2)
      expect(losses[1]!).toBeLessThan(losses[0]!)
      expect(followed).toContain(`trainer.${rank}`)
      if (kind === 'ps') {
        expect(await logs(cwd, job, '--role', 'pserver', '--rank', rank)).toContain('for 2 workers')
        expect(followed).toContain(`pserver.${rank}`)
      }
    }
    const output = join(cluster!.dir, 'shared', 'data', name)
    expect(readdirSync(join(output, 'increment_dnn')).sort()).toEqual(['0', '1'])
    console.log(digest(followed))
  }

  test.each(KINDS)('%s learns by oarfish run -b', { timeout: 8 * MINUTE }, async (kind) => {
    const name = `direct-${kind}`
    const cwd = workFolder(kind, name, direct)
    const begin = Date.now()
    const job = await submitted(cwd)
    const step = async () => (await logOf(`${name}-trainer-0`)).includes('[Train]')
    await until('a training step', 3 * MINUTE, step)
    console.log(`oarfish run -b to the first training step: ${((Date.now() - begin) / 1000).toFixed(1)} s`)
    await learned(kind, cwd, name, job)
  })

  test('processes have the token of the Secret; strangers in pods and on nodes are refused', {
    timeout: 8 * MINUTE,
  }, async () => {
    const name = 'token-ps'
    const cwd = workFolder('ps', name, direct)
    const longer = read('ps.config').replace('epochs: 2', 'epochs: 6') // so that it still trains when they come
    writeFileSync(join(cwd, 'config.yaml'), longer)
    await submitted(cwd)
    const pods = ['pserver-0', 'pserver-1', 'trainer-0', 'trainer-1'].map((role) => `${name}-${role}`)
    const server = pods[0]!
    await until('a training step', 3 * MINUTE, async () => (await logOf(`${name}-trainer-0`)).includes('[Train]'))
    const [, port] = /listens at \S*?:(\d+)/.exec(await logOf(server))!
    const [address, nodeName] = (
      await kubectl('get', 'pod', server, '-o', 'jsonpath={.status.podIP} {.spec.nodeName}')
    ).split(' ') as [string, string]
    const secret = JSON.parse(await kubectl('get', 'secret', name, '-o', 'json')) as { data: Record<string, string> }
    const token = Buffer.from(secret.data['OARFISH_RUN_TOKEN']!, 'base64').toString()
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    const hash = createHash('sha256').update(token).digest('hex')
    for (const pod of pods) {
      const processes = await processesOf(pod)
      const tokens = new Set(processes.flatMap((process) => process.token ?? []))
      expect([...tokens], JSON.stringify(processes)).toEqual([hash])
      expect(processes.filter(({ isTold }) => isTold)).toEqual([])
    }
    expect(await kubectl('get', 'pods,vcjob,configmaps', '-o', 'json')).not.toContain(token)

    const target = `${address}:${port}`
    const other = cluster!.nodes.find((node) => node !== nodeName)!
    const talks = await Promise.all([
      strangerIn('stranger-beside', { nodeName, target }),
      strangerIn('stranger-elsewhere', { nodeName: other, target }),
      strangerIn('stranger-node', { nodeName: other, target, hostNetwork: true }),
    ])
    for (const { heard, in: believed = 0 } of talks.flat()) {
      expect(believed).toBe(0)
      for (const told of [token, name, address, 'sparse', 'epochs']) expect(heard).not.toContain(told)
    }
    // The same words with the token are believed: it is the token that keeps the others out.
    expect(await strangerIn('no-stranger', { nodeName: other, target, secret: name })).toMatchObject([{ in: 1 }])
    expect(await phaseOf(name)).toBe('Running')
    await completed(name, 6 * MINUTE)
    const logs = await Promise.all(pods.map((pod) => logOf(pod).catch(() => '')))
    for (const log of logs) expect(log).not.toContain(token)
    const losses = [...logs[2]!.matchAll(/^epoch \d done, .*loss=\[([\d.]+)\]/gm)].map(([, loss]) => Number(loss))
    expect(losses.length).toBeGreaterThan(1)
    expect(losses.at(-1)!).toBeLessThan(losses[0]!)
  })

  test('the cards of a collective job are asked for, and without a device it learns on the CPU', async () => {
    const asked = await kubectl(
      'get',
      'pod',
      'direct-collective-trainer-0',
      '-o',
      'jsonpath={.spec.containers[0].resources.limits}',
    )
    expect(JSON.parse(asked)).toMatchObject({ 'nvidia.com/gpu': '1', cpu: '1' })
    expect(await logOf('direct-collective-trainer-0')).toContain('no device was found, so the CPU computes')
  })

  test('ps starts anew when a server is evicted, and learns', { timeout: 10 * MINUTE }, async () => {
    const name = 'evicted-ps'
    const cwd = workFolder('ps', name, direct)
    const job = await submitted(cwd)
    await until('a training step', 3 * MINUTE, async () => (await logOf(`${name}-trainer-0`)).includes('[Train]'))
    await evict(`${name}-pserver-1`)
    await until(
      'a restart',
      MINUTE,
      async () => (await kubectl('get', 'vcjob', name, '-o', 'jsonpath={.status.retryCount}')) === '1',
    )
    await completed(name, 6 * MINUTE)
    await learned('ps', cwd, name, job)
  })

  test.each(KINDS)('%s learns through the job server', { timeout: 8 * MINUTE }, async (kind) => {
    const { url, ak, sk } = await jobServer()
    const name = `served-${kind}`
    const keys = { 'ak: ""': `ak: "${ak}"`, 'sk: ""': `sk: "${sk}"\n  server: "${url}"` }
    const cwd = workFolder(kind, name, keys)
    await learned(kind, cwd, name, await submitted(cwd))
  })

  const account = { url: '', ak: '', sk: '' }

  /** Started once, with no more rights than deploy/kubernetes/job-server gives it. */
  async function jobServer() {
    if (server) return account
    await kubectl('apply', '-n', 'default', '-f', at('deploy/kubernetes/job-server/rbac.yaml'))
    const kubeconfig = join(folder, 'job-server.kubeconfig')
    const token = (await kubectl('create', 'token', 'job-server', '--duration=2h')).trim()
    writeFileSync(kubeconfig, readFileSync(cluster!.kubeconfig))
    const config = ['--kubeconfig', kubeconfig, 'config']
    await kubectl(...config, 'set-credentials', 'job-server', `--token=${token}`)
    await kubectl(...config, 'set-context', '--current', '--user=job-server')
    const dir = ['--dir', join(folder, 'cloud')]
    await oarfish(['cloud', 'group', 'add', 'default', '--quota', '8', ...dir], { cwd: folder })
    const keys = await oarfish(['cloud', 'user', 'add', 'somebody', '--group', 'default', ...dir], { cwd: folder })
    const words = ['cloud', 'serve', '--executor', 'kubernetes', '--port', '0', ...dir]
    server = spawn(process.execPath, [at('bin/oarfish.js'), ...words], {
      ...{ env: { ...process.env, HOME: folder, KUBECONFIG: kubeconfig }, stdio: ['ignore', 'pipe', 'inherit'] },
    })
    let said = ''
    server.stdout!.on('data', (text) => {
      said += text
    })
    account.url = await until('the job server', MINUTE, async () => /http:\S+(?=;)/.exec(said)?.[0])
    account.ak = /ak: (\S+)/.exec(keys)![1]!
    account.sk = /sk: (\S+)/.exec(keys)![1]!
    return account
  }
})

/** Lines of a followed log that tell how it went, each with the process that printed it. */
function digest(followed: string): string {
  let name = ''
  const told: string[] = []
  for (const line of followed.split('\n')) {
    name = /^==> (\S+) <==$/.exec(line)?.[1] ?? name
    if (/epoch \d done|listens|Finish|save epoch/.test(line)) told.push(`${name}: ${line}`)
  }
  return told.join('\n')
}
