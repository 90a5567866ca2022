/**
 * @file assembly/ as WebAssembly in dist/wasm. One process for all: the compiler takes longer to load and to warm up than to compile any of
 * them (6 processes took 24 s of processor time, one takes 7).
 */
import asc from 'assemblyscript/asc'

// Each kernel is its own module with imported memory: shared ones see a table segment or the dense block,
// private ones a thread's workspace (onnxruntime refuses tensors over shared memory).
const KERNELS = {
  segment: 'shared',
  dense: 'shared',
  workspace: 'private',
  text: 'private',
  reduce: 'private',
  half: 'private',
  log: 'private',
  runs: 'private',
  nearest: 'shared',
}
const MEMORY = { shared: ['--sharedMemory', '--maximumMemory', '65536', '--enable', 'threads'], private: [] }
const FLAGS = '-O3 --noAssert --runtime stub --use abort= --importMemory --enable simd'.split(' ')

for (const [name, kind] of Object.entries(KERNELS)) {
  const files = [`assembly/${name}.ts`, '--outFile', `dist/wasm/${name}.wasm`]
  const { error } = await asc.main([...files, ...FLAGS, ...MEMORY[kind]], process)
  // What is wrong was printed with its place; anything else is told here.
  if (error) {
    console.error(`assembly/${name}.ts: ${error.message}`)
    process.exitCode = 1
  }
}
