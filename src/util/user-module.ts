/** @file Imports a user's .ts or .js file, in which `oarfish` means the package that runs it. */

/** The module's exports; what it throws while loading is passed on with its own stack. */
export async function importUserModule<T>(file: string): Promise<T> {
  // dist/ lies two folders up from both src/util and dist/util. Handing the loaded package over, instead of its path,
  // spares parsing it again and keeps one copy of everything.
  const oarfish: unknown = await import(new URL('../../dist/index.js', import.meta.url).href)
  const { createJiti } = await import('jiti') // its parser is large, and most threads load no user file
  const jiti = createJiti(import.meta.url, { virtualModules: { oarfish }, fsCache: false, interopDefault: false })
  return (await jiti.import(file)) as T
}
