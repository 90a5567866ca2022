/**
 * @file `npm run e2e:k8s`: a Kubernetes cluster of two nodes on this machine, with the image of this package, and test/kube-real against it.
 * Words after `--` choose tests: npm run e2e:k8s -- -t 'evicted'. OARFISH_TESTBED names the tool that starts the cluster.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at, install, node, step } from './setup.mjs'

const testbed = process.env.OARFISH_TESTBED ?? at('..', 'shared', 'k8s-testbed', 'testbed')
if (!existsSync(testbed)) {
  console.error(`npm run e2e:k8s needs a cluster: ${testbed} is not there. Name the tool in OARFISH_TESTBED.`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'oarfish-k8s-'))
const [dir, image] = [join(folder, 'testbed'), join(folder, 'image')]
const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
let cluster
const run = (...args) => spawnSync(testbed, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

process.on('SIGINT', () => undefined) // it ends what runs; then the cluster is taken down below
const code = await main().finally(() => {
  run('down', '--dir', dir, '--purge')
  rmSync(folder, { recursive: true, force: true })
})
process.exit(code)

async function main() {
  const ready =
    (await install()) &&
    (await step('files of the image', async () => (await node(at('scripts', 'image.mjs'), ['--out', image])) === 0)) &&
    (await step('cluster', up)) &&
    (await step('image on every node', load))
  if (!ready) return 1
  const seeds = at('..', 'shared', 'seeds') // the guides' own texts, where they are at hand
  if (existsSync(seeds)) process.env.OARFISH_SEEDS ??= seeds
  process.env.OARFISH_K8S = JSON.stringify({ ...cluster, testbed, image: `localhost/oarfish:${version}` })
  return await node(at('node_modules', 'vitest', 'vitest.mjs'), [
    'run',
    'test/kube-real',
    '--no-file-parallelism',
    ...process.argv.slice(2),
  ])
}

async function up() {
  const { stdout, status } = run('up', '--tier', 'real', '--dir', dir, '--nodes', '2')
  if (status !== 0) return false
  cluster = JSON.parse(stdout)
  return true
}

async function load() {
  const list = join(folder, 'files')
  writeFileSync(list, `${[...base(), ...libraries(), `${image}=/`].join('\n')}\n`)
  const name = `localhost/oarfish:${version}`
  const { stdout, status } = run(
    ...['image', '--dir', dir, '--name', name, '--from', list],
    ...['--cmd', '["oarfish","--help"]', '--workdir', '/workspace'],
  )
  process.stdout.write(stdout)
  return status === 0
}

/** In place of the base image: Node, a shell, and the programs that jobs' own scripts use most. */
function base() {
  const programs = ['env', 'cat', 'ls', 'cp', 'mv', 'rm', 'mkdir', 'chmod', 'dirname', 'sleep', 'head', 'tail', 'id']
  return [
    `${process.execPath}=/usr/local/bin/node`,
    `${realpathSync('/bin/sh')}=/bin/sh`,
    ...programs.map((name) => `${execFileSync('which', [name], { encoding: 'utf8' }).trim()}=/usr/bin/${name}`),
  ]
}

/** Native modules by name: the tool adds what these load. */
function libraries() {
  return readdirSync(image, { recursive: true })
    .filter((path) => path.endsWith('.node'))
    .map((path) => `${join(image, path)}=/${path}`)
}
