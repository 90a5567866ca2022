/** @file Imports a user's .ts or .js file, in which `oarfish` means the package that runs it. */
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { keptTransform } from './kept-transform.ts'

/** The module's exports; what it throws while loading is passed on with its own stack. */
export async function importUserModule<T>(file: string): Promise<T> {
  const { createJiti } = await import('jiti') // large, and most threads load no user file
  // Its own cache goes by path, and every submitted job has a folder of its own.
  const options = { fsCache: false, interopDefault: false }
  const { transform } = createJiti(import.meta.url, options)
  const kept = keptTransform((source) => transform(source), join(homedir(), '.cache', 'oarfish', 'modules'))
  const oarfish = loadedPackage()
  const jiti = createJiti(import.meta.url, { ...options, virtualModules: { oarfish }, transform: kept })
  return (await jiti.import(file)) as T
}

/**
 * The package as it is loaded already, handed over instead of its path: there is one copy of everything. Models and readers are written
 * in what describe.ts exports; the rest is several times as much, and loaded when a program first asks for a name of it.
 */
function loadedPackage(): object {
  const load = createRequire(import.meta.url)
  // dist/ lies two folders up from both src/util and dist/util.
  const described: object = { ...load('../../dist/describe.js') }
  const rest = (): object => load('../../dist/index.js')
  return new Proxy(described, {
    get: (own, name) => Reflect.get(name in own || ASKED_OF_ANY_MODULE.has(name) ? own : rest(), name),
    has: (own, name) => name in own || name in rest(),
    ownKeys: () => Reflect.ownKeys(rest()).filter((name) => typeof name === 'string'),
    getOwnPropertyDescriptor: (_own, name) => ({
      value: Reflect.get(rest(), name),
      enumerable: true,
      configurable: true,
    }),
  })
}

/** By whoever imports it, to see of what kind it is. */
const ASKED_OF_ANY_MODULE: ReadonlySet<string | symbol> = new Set(['then', 'default', '__esModule', Symbol.toStringTag])
