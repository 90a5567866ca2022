/** @file Builds dist/: AssemblyScript kernels to dist/wasm, TypeScript file for file. Skips what is newer than its sources. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const at = (...path) => join(root, ...path)
const newest = (dir) =>
  Math.max(
    0,
    ...readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  )
const run = (script, args) => {
  const { status } = spawnSync(process.execPath, [at('node_modules', script), ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

// Each kernel is its own module with imported memory: shared ones see a table segment or the dense block,
// private ones a thread's workspace (onnxruntime refuses tensors over shared memory).
const KERNELS = { segment: 'shared', dense: 'shared', workspace: 'private', text: 'private' }
const MEMORY = { shared: ['--sharedMemory', '--maximumMemory', '65536', '--enable', 'threads'], private: [] }

mkdirSync(at('dist', 'wasm'), { recursive: true })
const assemblyTime = newest(at('assembly'))
for (const [name, kind] of Object.entries(KERNELS)) {
  const [source, out] = [`assembly/${name}.ts`, `dist/wasm/${name}.wasm`]
  if (!existsSync(at(source)) || (existsSync(at(out)) && statSync(at(out)).mtimeMs > assemblyTime)) continue
  run('assemblyscript/bin/asc.js', [
    source, '--outFile', out, '-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--importMemory', '--enable', 'simd', ...MEMORY[kind],
  ])
}
const stamp = at('dist', '.tsbuildinfo')
if (!existsSync(stamp) || statSync(stamp).mtimeMs < Math.max(newest(at('src')), statSync(at('tsconfig.build.json')).mtimeMs)) {
  run('typescript/bin/tsc', ['-p', 'tsconfig.build.json', '--incremental', '--tsBuildInfoFile', stamp])
}
