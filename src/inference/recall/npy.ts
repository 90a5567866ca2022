/** @file NumPy's .npy files, version 1.0, of the two types that vectors need: what numpy.load() reads as it is. */

const MAGIC = '\x93NUMPY\x01\x00'
const ALIGN = 64
const HEADER = /'descr': '(<[fu][48])', 'fortran_order': False, 'shape': \((\d+), ?(\d+)?\)/

export type NpyArray = Float32Array | BigUint64Array
const TYPES = { '<f4': Float32Array, '<u8': BigUint64Array } as const

/** An array in order of rows; `shape` has one or two numbers. */
export interface Npy<A extends NpyArray = NpyArray> {
  readonly shape: readonly number[]
  readonly data: A
}

/** The bytes before those of the data: they are a multiple of 64. */
export function npyHeader(data: NpyArray, shape: readonly number[]): Uint8Array {
  const type = data instanceof Float32Array ? '<f4' : '<u8'
  const words = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`
  const length = ALIGN * Math.ceil((MAGIC.length + 2 + words.length + 1) / ALIGN) - MAGIC.length - 2
  const text = `${words.padEnd(length - 1)}\n`
  return Buffer.concat([Buffer.from(MAGIC, 'latin1'), Uint8Array.of(length & 0xff, length >> 8), Buffer.from(text)])
}

/** Undefined where the bytes are no such file, or are not as long as it says. */
export function parseNpy(bytes: Uint8Array): Npy | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (buffer.length < 10 || buffer.toString('latin1', 0, 8) !== MAGIC) return undefined
  const start = 10 + buffer.readUInt16LE(8)
  const [, type, rows, columns] = HEADER.exec(buffer.toString('latin1', 10, start)) ?? []
  if (type === undefined) return undefined
  const shape = columns === undefined ? [Number(rows)] : [Number(rows), Number(columns)]
  const size = shape.reduce((product, n) => product * n, 1)
  const Type = TYPES[type as keyof typeof TYPES]
  if (!Type || buffer.length !== start + size * Type.BYTES_PER_ELEMENT) return undefined
  // Copied: typed arrays begin at multiples of their width, bytes of a file anywhere.
  return { shape, data: new Type(new Uint8Array(bytes.subarray(start)).buffer) }
}
