/** @file Builds dist/: AssemblyScript kernels to dist/wasm, TypeScript to JavaScript and declarations. Skips what is newer than its sources. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { at, install, node } from './setup.mjs'

const newest = (dir) =>
  Math.max(
    0,
    ...readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  )
const run = async (script, args) => {
  const status = await node(at('node_modules', script), args)
  if (status !== 0) process.exit(status)
}

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

if (!(await install())) process.exit(1)
mkdirSync(at('dist', 'wasm'), { recursive: true })
const assemblyTime = newest(at('assembly'))
for (const [name, kind] of Object.entries(KERNELS)) {
  const [source, out] = [`assembly/${name}.ts`, `dist/wasm/${name}.wasm`]
  if (!existsSync(at(source)) || (existsSync(at(out)) && statSync(at(out)).mtimeMs > assemblyTime)) continue
  await run('assemblyscript/bin/asc.js', [
    source,
    '--outFile',
    out,
    '-O3',
    '--noAssert',
    '--runtime',
    'stub',
    '--use',
    'abort=',
    '--importMemory',
    '--enable',
    'simd',
    ...MEMORY[kind],
  ])
}
const stamp = at('dist', '.tsbuildinfo')
const changed = Math.max(
  newest(at('src')),
  ...['tsconfig.build.json', 'scripts/bundle.mjs'].map((path) => statSync(at(path)).mtimeMs),
)
if (!existsSync(stamp) || statSync(stamp).mtimeMs < changed) {
  const { bundle } = await import('./bundle.mjs') // the bundler was installed above
  const written = new Set((await bundle()).flatMap((name) => [name, `${name}.map`]))
  pruneStale((path) => written.has(path))
  // Last, since its stamp says that all is built.
  await run('typescript/bin/tsc', ['-p', 'tsconfig.build.json', '--incremental', '--tsBuildInfoFile', stamp])
}

/** Removes what a deleted or renamed source left in dist/, so that nothing runs or is packed that no longer exists. */
function pruneStale(isWritten) {
  for (const entry of readdirSync(at('dist'), { recursive: true, withFileTypes: true })) {
    const path = relative(at('dist'), join(entry.parentPath, entry.name)).replaceAll(sep, '/')
    const source = path.startsWith('wasm')
      ? at('assembly', path.slice('wasm/'.length).replace(/\.wasm$/, '.ts'))
      : at('src', path.replace(/\.d\.ts$/, '.ts'))
    const isDeclared = /\.(d\.ts|wasm)$/.test(path) && existsSync(source)
    if (entry.isFile() && path !== '.tsbuildinfo' && !isDeclared && !isWritten(path)) rmSync(at('dist', path))
  }
}
