/**
 * @file `node scripts/image.mjs --out DIR`: what the container image holds besides Node and a shell, as a folder to copy to its root.
 * deploy/Dockerfile does so; where there is no Docker, tests make an image from the same folder.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { at, install, node, root } from './setup.mjs'

/** Where the package lies in the image. */
const HOME = 'opt/oarfish'
/** The training program of paddle_k8s's jobs and its sample data. */
const PROGRAM = 'workspace/ctr'
const SAMPLE = ['--format', 'criteo-tsv', '--rows', '10000', '--parts', '4']

const { values } = parseArgs({ options: { out: { type: 'string' } } })
if (values.out === undefined) {
  console.error('Name the folder to write: node scripts/image.mjs --out DIR')
  process.exit(2)
}
process.exit((await writeImage(resolve(values.out))) ? 0 : 1)

async function writeImage(out) {
  if (!(await install()) || (await node(at('scripts', 'build.mjs'))) !== 0) return false
  rmSync(out, { recursive: true, force: true })
  const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  for (const path of packedFiles()) cpSync(at(path), join(out, HOME, path))
  for (const path of productionPackages()) copyPackage(path, out)
  mkdirSync(join(out, 'usr/local/bin'), { recursive: true })
  for (const [name, path] of Object.entries(manifest.bin))
    symlinkSync(join('/', HOME, path), join(out, 'usr/local/bin', name))
  cpSync(at('examples/ctr'), join(out, PROGRAM), { recursive: true })
  return await writeSample(join(out, PROGRAM, 'raw_data'))
}

/** What a user of the package gets. */
function packedFiles() {
  const { stdout, status } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  })
  if (status !== 0) throw new Error(`npm pack ended with exit code ${status}`)
  return JSON.parse(stdout)[0].files.map(({ path }) => path)
}

function productionPackages() {
  const { packages } = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'))
  return Object.keys(packages).filter((path) => path.startsWith('node_modules/') && !packages[path].dev)
}

/** Without what never runs here: sources of types, maps, binaries of other platforms. */
function copyPackage(path, out) {
  const from = at(path)
  const here = `${platform()}[_/\\\\]${arch()}`
  const binaries = new RegExp(`(^|/)(bin/napi-v\\d+|build/koffi)/(?!${here})[a-z0-9]+[_/][a-z0-9]+(/|$)`)
  const filter = (source) => {
    const name = relative(from, source).split(sep).join('/')
    return !/(^|\/)node_modules$|\.(map|d\.[cm]?ts)$/.test(name) && !binaries.test(name) && !/^vendor|^doc\//.test(name)
  }
  cpSync(from, join(out, HOME, path), { recursive: true, filter, dereference: true })
}

/** The same rows in every image. */
async function writeSample(target) {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-sample-'))
  try {
    if ((await node(at('bin/oarfish.js'), ['data', 'criteo-like', ...SAMPLE, '--force', '--out', folder])) !== 0)
      return false
    cpSync(join(folder, 'train'), target, { recursive: true })
    return true
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
