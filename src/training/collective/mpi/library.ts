/** @file The cluster's MPI library: found, recognised, and its functions as ours. */

import { type LibraryHandle, loadKoffi } from '../../../base/util/index.ts'
import { mpiFailed, noLibrary, unknownAbi } from '../errors.ts'
import { type Abi, abiOf, shortVersion } from './abi.ts'

/** A call of MPI: throws when it does not succeed. */
type MpiCall = (...args: readonly unknown[]) => void

export interface MpiLibrary {
  readonly abi: Abi
  /** `Open MPI 4.1.4` */
  readonly version: string
  readonly path: string
  /** `MPI_` and the name; argument types are `handle` or those of C. */
  call(name: string, types: readonly string[]): MpiCall
}

/**
 * UCX, under MPICH and some Open MPI, tries its memory hooks at start by moving the end of the heap up and down, and takes
 * memory away that another thread of Node has just got. They serve the registration of memory with network cards, which
 * works without them. Its signal handler would hide V8's own. What the user has set stays.
 */
const UCX_BESIDE_NODE = { UCX_MEM_EVENTS: 'no', UCX_ERROR_SIGNALS: '' }

/** The first of `paths` that the system has. */
export function loadMpi(paths: readonly string[]): MpiLibrary {
  setDefaults(UCX_BESIDE_NODE)
  const problems: string[] = []
  for (const path of paths) {
    const library = tryLoad(path, problems)
    if (library) return recognise(library, path)
  }
  throw noLibrary(paths, problems)
}

/** In the environment that libraries see: what Node shows a thread is only a copy of it. */
function setDefaults(variables: Readonly<Record<string, string>>): void {
  if (process.platform === 'win32') return
  const setenv = loadKoffi().load(null).func('int setenv(const char *name, const char *value, int overwrite)')
  for (const [name, value] of Object.entries(variables)) setenv(name, value, 0)
}

/** Global symbols, since Open MPI's own plug-ins look for them there. */
function tryLoad(path: string, problems: string[]): LibraryHandle | undefined {
  try {
    return loadKoffi().load(path, { global: true })
  } catch (error) {
    problems.push((error as Error).message)
    return undefined
  }
}

function recognise(library: LibraryHandle, path: string): MpiLibrary {
  const text = libraryVersion(library)
  const abi = text === undefined ? undefined : abiOf(library, text)
  if (!abi) throw unknownAbi(path, text)
  const errorString = library.func('MPI_Error_string', 'int', ['int', 'void *', 'void *'])
  const describe = (code: number) => {
    const [buffer, length] = [Buffer.alloc(MAX_TEXT_BYTES), new Int32Array(1)]
    errorString(code, buffer, length)
    return buffer.toString('utf8', 0, length[0])
  }
  return {
    abi,
    version: shortVersion(text!),
    path,
    call: (name, types) => {
      const own = types.map((type) => (type === 'handle' ? abi.handle : type))
      const run = library.func(`MPI_${name}`, 'int', own) as (...args: unknown[]) => number
      return (...args) => {
        const code = run(...args)
        if (code !== 0) throw mpiFailed(`MPI_${name}`, describe(code))
      }
    },
  }
}

/** The only question every library answers before it is initialised; undefined when it is no MPI library. */
function libraryVersion(library: LibraryHandle): string | undefined {
  try {
    const version = library.func('MPI_Get_library_version', 'int', ['void *', 'void *'])
    const [buffer, length] = [Buffer.alloc(MAX_TEXT_BYTES), new Int32Array(1)]
    version(buffer, length)
    return buffer.toString('utf8', 0, length[0]).split('\0')[0]
  } catch {
    return undefined
  }
}

const MAX_TEXT_BYTES = 8192 // MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the longer one
