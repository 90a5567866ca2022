/** @file The commands, as processes: the guide's jobs through the job server and without it, what they print, and how they are stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type KubeClient, type KubeObject, RESOURCES } from '../../src/jobs/kube/index.ts'
import { addGroup, addUser } from '../../src/jobs/server/index.ts'
import { filled } from '../submit/mpi-cluster.testing.ts'
import { type Bed, nodeOf } from './bed.testing.ts'
import { guideJob } from './guide.testing.ts'
import { LONG, SOON } from './testbed.testing.ts'

const SUBMIT = ['run', '-m', 'config.yaml', '-b', 'backend.yaml']
const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

interface VolcanoJob extends KubeObject {
  readonly spec: { readonly tasks: readonly { readonly name: string; readonly template: object }[] }
}

export function commandTests(bed: () => Bed): void {
  describe.concurrent('oarfish', () => {
    let client: KubeClient
    let server: ChildProcess
    let keys: Readonly<Record<string, string>>
    beforeAll(async () => {
      client = await bed().testbed.namespace('guide')
      const cards = { 'nvidia.com/gpu': '1' }
      for (const i of [0, 1]) await make(nodeOf(`card-${i}`, { ...cards, cpu: '64' }))
      await make({ ...QUEUE, metadata: { name: 'ctr' }, spec: { weight: 1, reclaimable: true } })
      await make({ ...PRIORITY, metadata: { name: 'oarfish-high' }, value: 2000, preemptionPolicy: 'Never' })
      const dir = join(bed().folder, 'server')
      mkdirSync(dir)
      await addGroup(join(dir, 'accounts.json'), 'ctr', { quota: 10_000, priorities: ['high'] })
      const { ak, sk } = await addUser(join(dir, 'accounts.json'), { name: 'me', groups: ['ctr'] })
      const where = ['--executor', 'kubernetes', '--namespace', 'guide', '--dir', dir, '--port', '0']
      server = start(['cloud', 'serve', ...where])
      const url = await vi.waitFor(() => /http:\/\/[\d.:]+/.exec(textOf(server))![0], SOON)
      keys = { ak, sk, group: 'ctr', server: url }
    })
    afterAll(async () => {
      server?.kill('SIGTERM')
      await new Promise((done) => (server?.exitCode === null ? server.once('exit', done) : done(undefined)))
    })

    test("runs the guide's job with servers by the job server, with only keys and group filled in", LONG, async () => {
      const id = await submitted('PS', keys)
      const logs = await oarfish(['logs', id, '-f'])
      expect(logs.text).toMatch(/pserver 1 \(paddlerec-ctr-\w+-pserver-1 on [\w-]+\): running/)
      expect(logs.text).toMatch(/trainer 1 .*: succeeded\n/)
      expect((await oarfish(['status', id])).text).toMatch(/ PS_CPU_K8S +succeeded /)
      const job = await madeOf(id)
      expect(job!.spec).toMatchObject({ queue: 'ctr', priorityClassName: 'oarfish-high', minAvailable: 4 })
      expect(job!.spec.tasks).toMatchObject([
        { name: 'pserver', replicas: 2, template: limited({ cpu: '4', memory: '4Gi' }) },
        { name: 'trainer', replicas: 2, template: limited({ cpu: '4', memory: '4Gi' }) },
      ])
    })

    test("runs the guide's collective job on nodes that have cards", LONG, async () => {
      const id = await submitted('COLLECTIVE', keys)
      const logs = await oarfish(['logs', id, '-f'])
      expect(logs.text).toMatch(/trainer 0 \(\S+ on card-[01]\): succeeded/)
      expect(logs.text).not.toContain('pserver')
      const job = await madeOf(id)
      const template = limited({ cpu: '4', memory: '4Gi', 'nvidia.com/gpu': '1' })
      expect(job!.spec.tasks).toMatchObject([{ name: 'trainer', replicas: 2, template }])
    })

    test('tells why a job waits, goes on with it after its supervisor was killed, and stops it', LONG, async () => {
      const id = await submitted('PS', { ...keys, k8s_trainers: '1000' })
      const status = async () => JSON.parse((await oarfish(['status', id, '--json'])).text)
      const reason = expect.stringMatching(/The pods cannot be placed: .*overused cpu.*Ask for less/)
      await vi.waitFor(async () => expect(await status()).toMatchObject({ phase: 'queued', reason }), SOON)
      const claim = join(bed().folder, 'server/jobs', id, 'started')
      const killed = Number(readFileSync(claim, 'utf8').split(' ')[0])
      process.kill(killed, 'SIGKILL')
      await vi.waitFor(() => expect(Number(readFileSync(claim, 'utf8').split(' ')[0])).not.toBe(killed), SOON)
      expect((await oarfish(['stop', id])).text).toContain('is being stopped')
      await vi.waitFor(async () => expect(await status()).toMatchObject({ phase: 'stopped' }), SOON)
      expect(await madeOf(id)).toBeUndefined()
      expect((await oarfish(['logs', id])).text).toContain('job: queued')
    })

    test('refuses through the server an account and a namespace that are not its own', LONG, async () => {
      const refused = async (values: Readonly<Record<string, string>>) => (await run('PS', { ...keys, ...values })).text
      expect(await refused({ k8s_service_account: 'admin' })).toMatch(
        /Jobs of this server cannot choose the account admin\./,
      )
      expect(await refused({ k8s_namespace: 'kube-system' })).toMatch(/lie in namespace guide, not in kube-system\./)
    })

    test(
      'without a server: prints what it would make, makes it, refuses a second, replaces it with --force',
      LONG,
      async () => {
        const own = await bed().testbed.namespace('direct')
        const direct = withoutServer('direct')
        const dry = await run('PS', direct, ['--dry-run'])
        expect(dry.text).toMatch(/^kind: Job\nmetadata:\n {2}name: paddlerec-ctr\n/m)
        expect(dry.text).toMatch(/OARFISH_RUN_TOKEN: "\*\*\*"/)
        // kubectl takes it whole: what is not a manifest is a comment.
        const kinds = parseAllDocuments(dry.text.slice(dry.text.indexOf('# folder '))).flatMap(
          (document) => document.toJS()?.kind ?? [],
        )
        expect(kinds).toEqual(['ConfigMap', 'Secret', 'ServiceAccount', 'Role', 'RoleBinding', 'Job'])
        const checked = ['create', '--namespace', 'direct', '--dry-run=server', '-o', 'name', '-f', '-']
        const taken = await bed().testbed.kubectl(checked, dry.text.slice(dry.text.indexOf('# folder ')))
        expect(taken).toContain('job.batch.volcano.sh/paddlerec-ctr\n')
        expect((await own.list<VolcanoJob>(RESOURCES.VolcanoJob)).items).toEqual([])
        const first = await run('PS', direct)
        expect([first.code, first.text]).toEqual([0, expect.stringMatching(/Follow it with: oarfish logs job-\w+ -f/)])
        const second = await run('PS', direct)
        expect([second.code, second.text]).toEqual([
          2,
          expect.stringMatching(
            /There is a job paddlerec-ctr in namespace direct already\.\n +Replace it with --force/,
          ),
        ])
        const third = await run('PS', direct, ['--force'])
        const id = /"jobId": "([^"]+)"/.exec(third.text)![1]!
        expect((await oarfish(['logs', id, '-f'])).text).toMatch(/trainer 0 .*: succeeded/)
        expect((await oarfish(['status', id])).text).toContain('succeeded')
        // Other tests have jobs at the same time.
        const { jobs } = JSON.parse((await oarfish(['jobs', '--json'])).text)
        expect(jobs).toContainEqual(expect.objectContaining({ jobId: id, phase: 'succeeded' }))
        await vi.waitFor(async () => {
          const replaced = /"jobId": "([^"]+)"/.exec(first.text)![1]!
          expect((await oarfish(['status', replaced])).text).toMatch(/stopped|succeeded/)
        }, SOON)
      },
    )

    test('asks on a terminal before it replaces a job', LONG, async () => {
      const own = await bed().testbed.namespace('asked')
      const direct = withoutServer('asked')
      expect((await run('PS', direct)).code).toBe(0)
      const uids = async () =>
        (await own.list<VolcanoJob>(RESOURCES.VolcanoJob)).items.map(({ metadata }) => metadata.uid!)
      const first = await uids()
      const answered = async (answer: string) => await onTerminal(prepared('PS', direct), answer)
      const question = 'There is a job paddlerec-ctr in namespace asked already. Delete it and submit this one? [y/N]'
      const kept = await answered('no')
      expect([kept.code, kept.text]).toEqual([2, expect.stringContaining(question)])
      expect(await uids()).toEqual(first)
      const replaced = await answered('y')
      expect([replaced.code, replaced.text]).toEqual([0, expect.stringContaining('Follow it with: oarfish logs job-')])
      expect(await uids()).toEqual([expect.not.stringMatching(first[0]!)])
    })

    const make = async (object: object) => await bed().testbed.kubectl(['create', '-f', '-'], object)
    const madeOf = async (id: string) => {
      const { items } = await client.list<VolcanoJob>(RESOURCES.VolcanoJob)
      return items.find(({ metadata }) => metadata.name.endsWith(id.slice(-8)))
    }
    const environment = () => ({
      ...process.env,
      KUBECONFIG: bed().testbed.kubeconfig,
      XDG_CONFIG_HOME: join(bed().folder, 'config'),
      XDG_DATA_HOME: join(bed().folder, 'data'),
    })
    const start = (args: readonly string[], cwd = bed().folder) =>
      gathering(spawn(process.execPath, [BIN, ...args], { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] }))

    async function oarfish(args: readonly string[], cwd?: string) {
      const child = start(args, cwd)
      const code = await new Promise<number | null>((done) => child.once('close', done))
      return { code, text: textOf(child) }
    }

    /** As a person would: `script` is a terminal. */
    async function onTerminal(cwd: string, answer: string) {
      const command = [process.execPath, BIN, ...SUBMIT].map((word) => `'${word}'`).join(' ')
      const words = ['--quiet', '--return', '--flush', '--command', command, '/dev/null']
      const child = gathering(spawn('script', words, { cwd, env: environment(), stdio: 'pipe' }))
      await vi.waitFor(() => expect(textOf(child)).toContain('[y/N] '), SOON)
      child.stdin.write(`${answer}\n`)
      const code = await new Promise<number | null>((done) => child.once('close', done))
      return { code, text: textOf(child) }
    }

    const run = async (
      kind: 'PS' | 'COLLECTIVE',
      values: Readonly<Record<string, string>>,
      more: readonly string[] = [],
    ) => await oarfish([...SUBMIT, ...more], prepared(kind, values))

    /** A folder with one of the guide's jobs. */
    function prepared(kind: 'PS' | 'COLLECTIVE', values: Readonly<Record<string, string>>): string {
      const cwd = mkdtempSync(join(bed().folder, 'job-'))
      const { config, backend } = guideJob(kind)
      const { backend: where = 'PaddleCloud', ...rest } = values
      const added = Object.entries(rest).filter(([key]) => !new RegExp(`^ +${key}:`, 'm').test(backend))
      const known = filled(backend, rest).replace(/^backend: .*$/m, `backend: ${where}`)
      const whole = known.replace(
        /^submit:$/m,
        ['submit:', ...added.map(([key, value]) => `  ${key}: "${value}"`)].join('\n'),
      )
      writeFileSync(join(cwd, 'config.yaml'), config)
      writeFileSync(join(cwd, 'backend.yaml'), whole.replace(/"(\d+)"$/gm, '$1'))
      writeFileSync(join(cwd, 'model.ts'), 'export {}\n')
      return cwd
    }

    async function submitted(kind: 'PS' | 'COLLECTIVE', values: Readonly<Record<string, string>>): Promise<string> {
      const { code, text } = await run(kind, values)
      expect([code, text]).toEqual([0, expect.stringContaining('Congratulations! The new job is ready for training.')])
      return /"jobId": "([^"]+)"/.exec(text)![1]!
    }
  })
}

const QUEUE = { apiVersion: 'scheduling.volcano.sh/v1beta1', kind: 'Queue' }
const PRIORITY = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' }

const limited = (amounts: Readonly<Record<string, string>>) => ({
  spec: { containers: [{ resources: { limits: amounts, requests: amounts } }] },
})

const texts = new WeakMap<ChildProcess, string>()

function gathering<T extends ChildProcess>(child: T): T {
  texts.set(child, '')
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => texts.set(child, texts.get(child) + text))
  return child
}

const textOf = (child: ChildProcess) => texts.get(child) ?? ''

/** What the guide's backend.yaml needs for a job that goes to the cluster by itself. */
function withoutServer(namespace: string) {
  return { group: 'default', backend: 'Kubernetes', k8s_namespace: namespace, afs_remote_mount_point: '/data' }
}
