/** @file What every script needs before anything is installed: timed steps, and dependencies that match the lock file. Node only. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')
/** A path inside the repository. */
export const at = (...path) => join(root, ...path)

/** Runs one named step, says what it does and how long it took; true when it succeeded. */
export async function step(title, work) {
  console.log(`> ${title}`)
  const begin = performance.now()
  const ok = await work()
  console.log(
    `${ok ? '+' : 'x'} ${title}: ${ok ? 'ok' : 'failed'} in ${((performance.now() - begin) / 1000).toFixed(1)} s`,
  )
  return ok
}

/** Runs a JavaScript file with this Node, output passed through; resolves to its exit code. */
export function node(script, args = []) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' })
    // Ctrl+C reaches the child too, as part of the same terminal group: stay until it has ended in its own way.
    const stay = () => undefined
    process.on('SIGINT', stay)
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      process.off('SIGINT', stay)
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1))
    })
  })
}

/** Installs dependencies when what is installed differs from the lock file; their install scripts stay off. */
export async function install() {
  if (matchesLockfile()) return true
  return await step('install dependencies (install scripts off)', async () => {
    // The lock file says which versions and what they hash to: what is in npm's cache needs no asking.
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
    return (await node(npmCli(), args)) === 0
  })
}

/** Compares versions, not times: a clone or a branch switch gives files new times. */
function matchesLockfile() {
  try {
    const packagesOf = (path) => JSON.parse(readFileSync(at(path), 'utf8')).packages
    const locked = packagesOf('package-lock.json')
    const installed = packagesOf('node_modules/.package-lock.json')
    return (
      Object.entries(locked).every(
        ([path, { version, optional }]) => !path || optional || installed[path]?.version === version,
      ) && Object.entries(installed).every(([path, { version }]) => locked[path]?.version === version)
    )
  } catch {
    return false // nothing is installed
  }
}

/** npm as a JavaScript file: the one that started this script, or the one beside this Node. */
export function npmCli() {
  const { npm_execpath: running } = process.env
  if (running?.endsWith('.js')) return running
  return join(
    dirname(process.execPath),
    ...(process.platform === 'win32' ? [] : ['..', 'lib']),
    'node_modules/npm/bin/npm-cli.js',
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = (await install()) ? 0 : 1
