/** @file Runs a TypeScript file of this repository from its source, with words. */
import { spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { at } from './setup.mjs'

/** Resolves to its exit code. */
export function runSource(path, words) {
  const jiti = at('node_modules', 'jiti', 'lib', 'jiti-register.mjs')
  const args = ['--import', pathToFileURL(jiti).href, at(...path.split('/')), ...words]
  const env = { ...process.env, JITI_FS_CACHE: at('.cache', 'jiti') }
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { env, stdio: 'inherit' })
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
