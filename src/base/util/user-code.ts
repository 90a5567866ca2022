/** @file Users' .ts and .js files: imported, with `oarfish` meaning the package that runs them, and run under their own names, since what they throw is theirs to mend. */
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError, type Where } from './errors.ts'
import { keptTransform } from './kept-transform.ts'
import { builtFile, packageFile } from './package-file.ts'
import { suggest } from './suggest.ts'

/** The module's exports; what it throws while loading is passed on with its own stack. */
export async function importUserModule<T>(file: string): Promise<T> {
  const { createJiti } = await import('jiti') // large, and most threads load no user file
  // Its own cache goes by path, and every submitted job has a folder of its own.
  const options = { fsCache: false, interopDefault: false }
  const { transform } = createJiti(import.meta.url, options)
  const kept = keptTransform((source) => transform(source), join(homedir(), '.cache', 'oarfish', 'modules'))
  const jiti = createJiti(import.meta.url, { ...options, virtualModules: loadedPackage(), transform: kept })
  return (await jiti.import(file)) as T
}

/**
 * The package as it is loaded already, handed over instead of its path: there is one copy of everything. Models and readers are written
 * in what describe.ts and nn.ts export; the rest is several times as much, and loaded when a program first asks for a name of it.
 */
function loadedPackage(): Record<string, object> {
  const load = createRequire(import.meta.url)
  const loader = (file: URL) => (): object => load(fileURLToPath(file))
  const parts = Object.fromEntries(
    ['nn', 'fleet', 'fluid', 'trainer'].map((part) => {
      const whole = loader(builtFile(part))
      const refuse = (name: string) => {
        throw unknownExport(name, `oarfish/${part}`, whole())
      }
      return [`oarfish/${part}`, lazily({}, whole, refuse)]
    }),
  )
  const whole = loader(builtFile('index'))
  const refuse = (name: string) => {
    const part = name === 'nn' ? 'oarfish/nn' : Object.keys(parts).find((one) => name in parts[one]!)
    throw part ? elsewhere(name, part) : unknownExport(name, 'oarfish', whole())
  }
  return { oarfish: lazily({ ...loader(builtFile('describe'))() }, whole, refuse), ...parts }
}

function unknownExport(name: string, part: string, whole: object): UserError {
  const guess = suggest(name, Object.keys(whole))
  const place = userPlace(new Error().stack)
  return new UserError(`${part} does not export "${name}"`, {
    code: 'MODEL_NAME',
    hint: guess ? `Did you mean ${guess}?` : `docs/reference/api/${part.split('/').at(-1)}.md lists what it exports.`,
    where: place && { file: shown(place.file), line: place.line },
  })
}

/** An import of what a module does not have gives undefined, and that is noticed far from where it is wrong. */
function elsewhere(name: string, part: string): UserError {
  const words = name === 'nn' ? '* as nn' : `{ ${name} }`
  return new UserError(`oarfish does not export "${name}"; ${part} does`, {
    code: 'MODEL_NAME',
    hint: `import ${words} from '${part}'`,
    where: userPlace(new Error().stack),
  })
}

/** A module of which `own` is there, and all of it once another name is asked for; `refuse` gets those that it does not have. */
function lazily(own: object, rest: () => object, refuse: (name: string) => void = () => undefined): object {
  return new Proxy(own, {
    get: (_own, name) => {
      if (name in own || ASKED_OF_ANY_MODULE.has(name)) return Reflect.get(own, name)
      if (typeof name === 'string' && !(name in rest())) refuse(name)
      return Reflect.get(rest(), name)
    },
    has: (_own, name) => name in own || name in rest(),
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

/** A path as a user would type it here. */
export function shown(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short || '.'
}

/** Where a stack comes from a user's file: the innermost such line, if there is one. */
export function userPlace(stack = ''): Required<Where> | undefined {
  for (const frame of stack.split('\n').slice(1)) {
    const place = frameOf(frame)
    if (place && isUsers(place.file)) return place
  }
  return undefined
}

/** The place that a line of a stack names. */
export function frameOf(frame: string): Required<Where> | undefined {
  const [, path = '', line, column] =
    /(?:^|[\s(])((?:file:\/\/|[A-Za-z]:[\\/]|\/)[^()]*?):(\d+):(\d+)\)?$/.exec(frame) ?? []
  if (path === '') return undefined
  return { file: path.startsWith('file:') ? fileURLToPath(path) : path, line: Number(line), column: Number(column) }
}

/** Models that ship lie in this package, and still are models. */
export function isUsers(file: string): boolean {
  const isIn = (folder: string) => file.startsWith(packageFile(folder) + sep)
  return isIn('models') || !(isIn('bin') || isIn('dist') || isIn('src') || /[\\/]node_modules[\\/]/.test(file))
}
