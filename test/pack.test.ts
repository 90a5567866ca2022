/** @file The package as a user gets it: packed, installed into an empty folder by the README's first line, training there. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beforeHook } from '../src/jobs/submit/folder.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const INSTALL_MS = 6 * 60 * 1000 // onnxruntime-node is large

describe('the packed package', () => {
  let folder: string
  let lean: string
  let packed: { filename: string; files: { path: string }[] }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-pack-'))
    // Not below the first installation, where Node would find what this one lacks.
    lean = await mkdtemp(join(tmpdir(), 'oarfish-lean-'))
    await run(process.execPath, ['scripts/build.mjs'], ROOT)
    const stdout = await run('npm', ['pack', '--json', '--pack-destination', folder], ROOT)
    packed = JSON.parse(stdout)[0]
  }, INSTALL_MS)
  afterAll(() => Promise.all([folder, lean].map((path) => rm(path, { recursive: true, force: true }))))

  test('holds what runs and what is read, and nothing else', () => {
    const expected = [
      /^(package\.json|LICENSE|README\.md|README\.zh-CN\.md|(CHANGELOG|CONTRIBUTING|SECURITY)\.md|bin\/(path\/)?(oarfish|fleetrun|paddlecloud|paddle_k8s)(\.js)?|bin\/shell\/(python3?|fleetrun))$/,
      /^dist\/(?!.*\.test(ing)?\.)[\w/-]+(\.js|\.d\.ts)$/,
      /^dist\/wasm\/\w+\.wasm$/,
      /^dist\/page\/index\.html$/,
      /^python\/([\w/]+\.py|README\.md)$/,
      /^tools\/run_gpubox\.sh$/,
      /^docs\/(config\.schema\.json|[\w/.-]+\.(md|svg))$/,
      /^docs\/images\/dashboard\/\w+\.png$/,
      /^(deploy|examples)\/[\w/.-]+$/,
      /^models\/[\w/-]+\/(README\.md|config[\w-]*\.yaml|[\w-]+\.ts|data\/README\.md|data\/\w+\.txt|data\/(sample_data|dict)\/.+)$/,
    ]
    const paths = packed.files.map(({ path }) => path)
    expect(paths.filter((path) => !expected.some((pattern) => pattern.test(path)))).toEqual([])
    for (const needed of [
      'README.md',
      'LICENSE',
      'docs/config.schema.json',
      'docs/guide/tutorial.md',
      'deploy/kubernetes/ctr-paddlepaddle-on-volcano.yaml',
      'examples/ctr/train.ts',
      'dist/index.d.ts',
      'models/rank/dnn/config.yaml',
      'python/paddle/distributed/fleet/__init__.py',
      'python/oarfish_reader.py',
      'bin/shell/python',
      'tools/run_gpubox.sh',
    ]) {
      expect(paths).toContain(needed)
    }
  })

  test('every link of its pages, and every page that its help and messages name, leads to a file in it', async () => {
    const paths = packed.files.map(({ path }) => path)
    const isThere = (path: string) => paths.some((packed) => packed === path || packed.startsWith(`${path}/`))
    const pages = paths.filter((path) => path.endsWith('.md'))
    expect(pages.length).toBeGreaterThan(60)
    const dead = await Promise.all(
      pages.map(async (page) => {
        const prose = (await readFile(join(ROOT, page), 'utf8'))
          .replace(/^```[\s\S]*?^```/gm, '')
          .replace(/`[^`\n]*`/g, '')
        const targets = [...prose.matchAll(/\]\((?!\w+:)([^)\s#]+)/g)].map(([, target]) => join(dirname(page), target!))
        return targets.filter((target) => !isThere(target.replace(/\/$/, ''))).map((target) => `${page}: ${target}`)
      }),
    )
    expect(dead.flat()).toEqual([])
    const code = paths.filter((path) => path.startsWith('dist/') && path.endsWith('.js'))
    const named = await Promise.all(
      code.map(
        async (path) =>
          (await readFile(join(ROOT, path), 'utf8')).match(/\b(docs|deploy|examples)\/[\w/-]+\.(md|yaml|ts)\b/g) ?? [],
      ),
    )
    expect(named.flat().length).toBeGreaterThan(3)
    expect([...new Set(named.flat())].filter((path) => !isThere(path))).toEqual([])
  })

  test(
    "trains in an empty folder into which the README's line installed it",
    async () => {
      const [line] = /^npm install .*$/m.exec(await readFile(join(ROOT, 'README.md'), 'utf8')) ?? []
      expect(line).toBe(`npm install --ignore-scripts ../oarfish/${packed.filename}`)
      const install = ['install', '--ignore-scripts', join(folder, packed.filename)]
      await run('npm', [...install, '--prefer-offline', '--no-audit', '--no-fund'], folder)
      const config = 'node_modules/oarfish/models/rank/dnn/config.yaml'
      const stdout = await run('npx', ['oarfish', 'train', '-m', config, '-o', 'runner.epochs=1', '--json'], folder)
      const done = JSON.parse(stdout.trim().split('\n').at(-1)!)
      expect(done.kind).toBe('done')
      expect(done.samples).toBeGreaterThan(0)
      expect(done.metrics.auc).toBeGreaterThan(0)
    },
    INSTALL_MS,
  )

  test(
    'the smallest installation of docs/reference/compatibility.md weighs what is said there, trains with a server, and says what it lacks',
    async () => {
      const page = await readFile(join(ROOT, 'docs/reference/compatibility.md'), 'utf8')
      const [, line, megabytes] =
        /\| `(npm install [^`]+--omit=optional[^`]*)`, then `npx oarfish slim` \| (\d+) MB \|/.exec(page)!
      expect(line).toBe(`npm install --ignore-scripts --omit=optional ${packed.filename}`)
      await writeFile(join(lean, 'package.json'), '{}')
      const install = [...line!.split(' ').slice(1, -1), join(folder, packed.filename), '--prefer-offline']
      await run('npm', [...install, '--no-audit', '--no-fund'], lean)
      const { bytes } = JSON.parse(await run('npx', ['oarfish', 'slim', '--json'], lean))
      expect(bytes).toBeGreaterThan(200e6)
      expect((await weigh(join(lean, 'node_modules'))) / 1e6 / Number(megabytes)).toBeCloseTo(1, 1)

      // Shared memory between worker and server is koffi's.
      const config = 'node_modules/oarfish/models/rank/dnn/config.yaml'
      const job = ['fleetrun', '--worker_num=1', '--server_num=1', 'static_ps_trainer.py', '-m', config]
      expect(await run('npx', [...job, '-o', 'runner.epochs=1'], lean)).toMatch(/epoch: 0 done/)
      await writeFile(join(lean, 'kubeconfig'), KUBECONFIG)
      const env = { ...process.env, KUBECONFIG: join(lean, 'kubeconfig') }
      await expect(run('npx', ['oarfish', 'doctor', '--kube'], lean, env)).rejects.toThrow(
        'npm install --ignore-scripts @kubernetes/client-node',
      )
    },
    INSTALL_MS,
  )

  test('before_hook.sh refuses a node of another version in words, and installs only what OARFISH_PACKAGE names', {
    timeout: INSTALL_MS,
  }, async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const node = join(folder, 'node')
    await mkdir(node)
    await writeFile(join(node, 'before_hook.sh'), beforeHook({ version: '0.0.1' }))
    await expect(run('sh', ['before_hook.sh'], node, { PATH: SYSTEM_PATH })).rejects.toThrow(
      'this node has oarfish none, and the job was submitted by oarfish 0.0.1: submit it with the version of the job server',
    )
    const env = { ...process.env, OARFISH_PACKAGE: join(folder, packed.filename), PATH: SYSTEM_PATH }
    expect(await run('sh', ['before_hook.sh'], node, env)).toMatch(/^Run before_hook.sh [\s\S]*End before_hook.sh/)
    const own = join(node, '.oarfish', 'bin')
    expect((await run(join(own, 'oarfish'), ['--version'], node)).trim()).toBe(version)
    await writeFile(join(node, 'before_hook.sh'), beforeHook({ version }))
    const there = { PATH: [own, SYSTEM_PATH].join(delimiter) }
    expect(await run('sh', ['before_hook.sh'], node, there)).toBe('Run before_hook.sh ...\nEnd before_hook.sh ...\n')
  })
})

/** Of a cluster that is never asked. */
const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: here
clusters: [{ name: here, cluster: { server: "http://127.0.0.1:9" } }]
users: [{ name: me, user: {} }]
contexts: [{ name: here, context: { cluster: here, user: me } }]
`

async function weigh(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name)))
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0)
}

/** Without this package's commands. */
const SYSTEM_PATH = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)

/** Runs a program; what it printed is part of the error when it fails. */
async function run(file: string, args: readonly string[], cwd: string, env = process.env): Promise<string> {
  try {
    return (await promisify(execFile)(file, args, { cwd, env })).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${file} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
