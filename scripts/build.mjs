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

const TYPESCRIPT = ['typescript/bin/tsc', '-p', 'tsconfig.build.json', '--incremental', '--tsBuildInfoFile']

/** Parts, each with all that its result depends on. */
const PARTS = {
  kernels: { from: ['assembly', 'scripts/kernels.mjs'], make: () => node(at('scripts', 'kernels.mjs')) },
  scripts: { from: ['src', 'scripts/build.mjs', 'scripts/bundle.mjs'], make: makeScripts },
  page: {
    from: [
      'page',
      'page/style.css',
      'page/index.html',
      'src/jobs/dashboard/api.ts',
      'src/jobs/server/page-api.ts',
      'scripts/page.mjs',
    ],
    make: makePage,
  },
  types: { from: ['src', 'types', 'tsconfig.json', 'tsconfig.build.json'], make: makeTypes },
}
/** What is made side by side, each list in its order: declarations of sources that are gone are removed with the scripts. */
const LANES = [
  ['kernels', 'page'],
  ['scripts', 'types'],
]
const STAMP = at('dist', '.built.json')
const LOCK = at('.cache', 'build.lock')
const LOOK_MS = 100

process.exitCode = (await install()) ? await locked(build) : 1

async function build() {
  mkdirSync(at('dist', 'wasm'), { recursive: true })
  const built = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, 'utf8')) : {}
  const codes = await Promise.all(LANES.map((names) => makeInOrder(names, built)))
  return codes.find((code) => code === 1) ?? Math.max(...codes)
}

async function makeInOrder(names, built) {
  for (const name of names) {
    const { from, make } = PARTS[name]
    const text = fingerprint(from) // before it is made: a source that changes meanwhile is made again the next time
    if (built[name] === text) continue
    const code = await make().catch(told) // the other parts are made all the same
    if (code !== 0) return code
    built[name] = text
    writeFileSync(STAMP, JSON.stringify(built))
  }
  return 0
}

function told(error) {
  console.error(error)
  return 1
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

async function makeScripts() {
  const { bundle } = await import('./bundle.mjs') // the bundler was installed above
  const written = new Set((await bundle()).flatMap((name) => [name, `${name}.map`]))
  pruneStale((path) => written.has(path))
  return 0
}

async function makePage() {
  const { page } = await import('./page.mjs')
  await page()
  return await node(at('node_modules', 'typescript/bin/tsc'), ['-p', at('page', 'tsconfig.json')])
}

async function makeTypes() {
  const [script, ...args] = TYPESCRIPT
  return await node(at('node_modules', script), [...args, at('dist', '.tsbuildinfo')])
}

/** Removes what a deleted or renamed source left in dist/, so that nothing runs or is packed that no longer exists. */
function pruneStale(isWritten) {
  for (const entry of readdirSync(at('dist'), { recursive: true, withFileTypes: true })) {
    const path = relative(at('dist'), join(entry.parentPath, entry.name)).replaceAll(sep, '/')
    const source = path.startsWith('wasm')
      ? at('assembly', path.slice('wasm/'.length).replace(/\.wasm$/, '.ts'))
      : at('src', path.replace(/\.d\.ts$/, '.ts'))
    const isDeclared = /\.(d\.ts|wasm)$/.test(path) && existsSync(source)
    if (entry.isFile() && !path.startsWith('.') && !path.startsWith('page/') && !isDeclared && !isWritten(path))
      rmSync(at('dist', path))
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
