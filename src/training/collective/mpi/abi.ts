/** @file The two binary interfaces of MPI: what a communicator, a type, an operation is to the library. Everything else is the same. */
import type { LibraryHandle } from '../../../base/util/index.ts'
import type { Pairwise, TypeName } from '../numbers.ts'

/** The address of a symbol, or a number that MPICH's header defines. */
type Handle = unknown

export interface Abi {
  readonly name: string
  /** What a handle is in a C prototype. */
  readonly handle: 'void *' | 'int'
  readonly world: Handle
  readonly types: Readonly<Record<TypeName, Handle>>
  readonly operations: Readonly<Record<Pairwise, Handle>>
  readonly errorsReturn: Handle
  /** MPI_IN_PLACE, an address that is none. */
  readonly inPlace: number
}

/** The interface of a library by what it says of itself; undefined when it is a third one. */
export function abiOf(library: LibraryHandle, version: string): Abi | undefined {
  return ABIS.find(({ says }) => says.test(version))?.read(library)
}

/** The first line of a version text, shortened: `Open MPI 4.1.4`, `MPICH 4.0.2`. */
export function shortVersion(version: string): string {
  const [, name, number] = /(Open MPI|MPICH|MVAPICH2?|Intel\(R\) MPI)[^\d]*(\d[\w.]*)/.exec(version) ?? []
  return name ? `${name} ${number}` : version.split('\n')[0]!.trim()
}

interface Known {
  readonly says: RegExp
  readonly read: (library: LibraryHandle) => Abi
}

/** Intel MPI, MVAPICH and Cray MPI keep to MPICH's interface by agreement. */
const ABIS: readonly Known[] = [
  { says: /Open MPI/, read: openMpi },
  { says: /MPICH|MVAPICH|Intel\(R\) MPI|CRAY MPICH/i, read: mpich },
]

/** Handles are the addresses of the library's own objects. */
function openMpi(library: LibraryHandle): Abi {
  const address = (name: string) => library.symbol(`ompi_mpi_${name}`, 'void *')
  return {
    name: 'Open MPI',
    handle: 'void *',
    world: address('comm_world'),
    types: {
      float32: address('float'),
      float64: address('double'),
      int32: address('int32_t'),
      int64: address('int64_t'),
      uint8: address('uint8_t'),
    },
    operations: { sum: address('op_sum'), max: address('op_max') },
    errorsReturn: address('errors_return'),
    inPlace: 1,
  }
}

/** Handles are numbers: kind, size and index in one. */
function mpich(): Abi {
  return {
    name: 'MPICH',
    handle: 'int',
    world: 0x44000000,
    types: {
      float32: 0x4c00040a,
      float64: 0x4c00080b,
      int32: 0x4c000439,
      int64: 0x4c00083a,
      uint8: 0x4c00013b,
    },
    operations: { sum: 0x58000003, max: 0x58000001 },
    errorsReturn: 0x54000001,
    inPlace: -1,
  }
}
