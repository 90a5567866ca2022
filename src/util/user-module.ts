/** @file Imports a user's .ts or .js file, in which `oarfish` means the package that runs it. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { keptTransform } from './kept-transform.ts'

/** The module's exports; what it throws while loading is passed on with its own stack. */
export async function importUserModule<T>(file: string): Promise<T> {
  // dist/ lies two folders up from both src/util and dist/util. Handing the loaded package over, instead of its path,
  // spares parsing it again and keeps one copy of everything.
  const oarfish: unknown = await import(new URL('../../dist/index.js', import.meta.url).href)
  const { createJiti } = await import('jiti') // large, and most threads load no user file
  // Its own cache goes by path, and every submitted job has a folder of its own.
  const options = { fsCache: false, interopDefault: false }
  const { transform } = createJiti(import.meta.url, options)
  const kept = keptTransform((source) => transform(source), join(homedir(), '.cache', 'oarfish', 'modules'))
  const jiti = createJiti(import.meta.url, { ...options, virtualModules: { oarfish }, transform: kept })
  return (await jiti.import(file)) as T
}
