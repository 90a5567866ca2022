/**
 * @file `npm run build`: dist/, from AssemblyScript (dist/wasm) and TypeScript (JavaScript and declarations). Each part is made when the text of
 * its sources is not that of the last time: times of files say nothing after a checkout or a rename. One build at a time.
 * Ends with 1 when something could not be built, with 2 when only types are wrong: what runs is new then.
 */
import { createHash } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { at, install, node } from './setup.mjs'

// Each kernel is its own module with imported memory: shared ones see a table segment or the dense block,
// private ones a thread's workspace (onnxruntime refuses tensors over shared memory).
const KERNELS = {
  segment: 'shared',
  dense: 'shared',
  workspace: 'private',
  text: 'private',
  reduce: 'private',
  half: 'private',
}
const MEMORY = { shared: ['--sharedMemory', '--maximumMemory', '65536', '--enable', 'threads'], private: [] }
const KERNEL_FLAGS = '-O3 --noAssert --runtime stub --use abort= --importMemory --enable simd'.split(' ')
const TYPESCRIPT = ['typescript/bin/tsc', '-p', 'tsconfig.build.json', '--incremental', '--tsBuildInfoFile']

/** Parts in the order in which they are made, each with all that its result depends on. */
const PARTS = {
  kernels: { from: ['assembly', 'scripts/build.mjs'], make: makeKernels },
  scripts: { from: ['src', 'scripts/build.mjs', 'scripts/bundle.mjs'], make: makeScripts },
  types: { from: ['src', 'types', 'tsconfig.json', 'tsconfig.build.json'], make: makeTypes },
}
const STAMP = at('dist', '.built.json')
const LOCK = at('.cache', 'build.lock')
const LOOK_MS = 100

process.exitCode = (await install()) ? await locked(build) : 1

async function build() {
  mkdirSync(at('dist', 'wasm'), { recursive: true })
  const built = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, 'utf8')) : {}
  for (const [name, { from, make }] of Object.entries(PARTS)) {
    const text = fingerprint(from) // before it is made: a source that changes meanwhile is made again the next time
    if (built[name] === text) continue
    const code = await make()
    if (code !== 0) return code
    built[name] = text
    writeFileSync(STAMP, JSON.stringify(built))
  }
  return 0
}

function fingerprint(paths) {
  const hash = createHash('sha256').update(readFileSync(at('package-lock.json')))
  for (const path of paths.flatMap(sourcesOf)) hash.update(`\0${path}\0`).update(readFileSync(at(path)))
  return hash.digest('hex')
}

/** Of a file or folder: what is built, not its tests. */
function sourcesOf(path) {
  if (/\.\w+$/.test(path)) return [path]
  return readdirSync(at(path), { recursive: true })
    .filter((name) => /\.ts$|^tsconfig\.json$/.test(name) && !/\.(test|testing)\.ts$/.test(name))
    .map((name) => `${path}/${name}`)
    .sort()
}

/** All at once: each is a process of its own, and one core alone takes twice as long. */
async function makeKernels() {
  const codes = await Promise.all(
    Object.entries(KERNELS).map(([name, kind]) => {
      const files = [`assembly/${name}.ts`, '--outFile', `dist/wasm/${name}.wasm`]
      return tool('assemblyscript/bin/asc.js', ...files, ...KERNEL_FLAGS, ...MEMORY[kind])
    }),
  )
  return codes.every((code) => code === 0) ? 0 : 1
}

async function makeScripts() {
  const { bundle } = await import('./bundle.mjs') // the bundler was installed above
  const written = new Set((await bundle()).flatMap((name) => [name, `${name}.map`]))
  pruneStale((path) => written.has(path))
  return 0
}

async function makeTypes() {
  return await tool(...TYPESCRIPT, at('dist', '.tsbuildinfo'))
}

async function tool(script, ...args) {
  return await node(at('node_modules', script), args)
}

/** Removes what a deleted or renamed source left in dist/, so that nothing runs or is packed that no longer exists. */
function pruneStale(isWritten) {
  for (const entry of readdirSync(at('dist'), { recursive: true, withFileTypes: true })) {
    const path = relative(at('dist'), join(entry.parentPath, entry.name)).replaceAll(sep, '/')
    const source = path.startsWith('wasm')
      ? at('assembly', path.slice('wasm/'.length).replace(/\.wasm$/, '.ts'))
      : at('src', path.replace(/\.d\.ts$/, '.ts'))
    const isDeclared = /\.(d\.ts|wasm)$/.test(path) && existsSync(source)
    if (entry.isFile() && !path.startsWith('.') && !isDeclared && !isWritten(path)) rmSync(at('dist', path))
  }
}

/** Two test runs that start at once build once: the second finds everything made. */
async function locked(work) {
  mkdirSync(at('.cache'), { recursive: true })
  while (!take()) await sleep(LOOK_MS)
  try {
    return await work()
  } finally {
    rmSync(LOCK, { force: true })
  }
}

function take() {
  const own = `${LOCK}.${process.pid}`
  try {
    writeFileSync(own, String(process.pid))
    linkSync(own, LOCK) // is there at once, with its text
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!holderLives()) rmSync(LOCK, { force: true }) // it was killed
    return false
  } finally {
    rmSync(own, { force: true })
  }
}

function holderLives() {
  try {
    return process.kill(Number(readFileSync(LOCK, 'utf8')), 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
