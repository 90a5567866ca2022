/** @file Python's pickles, as far as files of weights need them: dictionaries, texts, numbers and numpy's arrays. Nothing is called or imported. */
import { UserError } from '../../base/util/index.ts'

/** An array of numpy's, in row-major order. */
export interface NumpyArray {
  readonly kind: 'array'
  readonly shape: readonly number[]
  /** numpy's name of the type: `f4`, `i8`. */
  readonly dtype: string
  readonly bytes: Uint8Array
}

interface Global {
  readonly kind: 'global'
  readonly name: string
}
interface DType {
  readonly kind: 'dtype'
  readonly name: string
  bigEndian: boolean
}
interface Unbuilt {
  kind: 'unbuilt'
  built?: NumpyArray
}

const MARK = Symbol('mark')
/** What may be named: each is data, never code. */
const KNOWN =
  /^(numpy\.(_?core)\.multiarray (_reconstruct|scalar)|numpy (ndarray|dtype)|_codecs encode|collections OrderedDict)$/

export function readPickle(bytes: Uint8Array, file: string): unknown {
  return new Reader(bytes, file).read()
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #file: string
  readonly #stack: unknown[] = []
  readonly #memo = new Map<number, unknown>()
  #at = 0

  constructor(bytes: Uint8Array, file: string) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#file = file
  }

  read(): unknown {
    try {
      for (;;) {
        const code = this.#u8()
        if (code === 0x2e) return this.#pop() // STOP
        const own = OPCODES[code]
        if (!own)
          throw this.#wrong(`byte ${this.#at - 1} is 0x${code.toString(16)}, which files of weights do not have`)
        own(this)
      }
    } catch (error) {
      if (error instanceof RangeError) throw this.#wrong('it ends too early')
      throw error
    }
  }

  #u8(): number {
    return this.#view.getUint8(this.#at++)
  }

  u8 = (): number => this.#u8()
  u16(): number {
    this.#at += 2
    return this.#view.getUint16(this.#at - 2, true)
  }
  u32(): number {
    this.#at += 4
    return this.#view.getUint32(this.#at - 4, true)
  }
  i32(): number {
    this.#at += 4
    return this.#view.getInt32(this.#at - 4, true)
  }
  u64(): number {
    this.#at += 8
    return Number(this.#view.getBigUint64(this.#at - 8, true))
  }
  f64(): number {
    this.#at += 8
    return this.#view.getFloat64(this.#at - 8, false)
  }

  take(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) throw new RangeError()
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  text(length: number): string {
    return new TextDecoder().decode(this.take(length))
  }

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at)
    if (end < 0) throw new RangeError()
    const own = this.text(end - this.#at)
    this.#at += 1
    return own
  }

  push(value: unknown): void {
    this.#stack.push(value)
  }

  #pop(): unknown {
    if (this.#stack.length === 0) throw new RangeError()
    return this.#stack.pop()
  }
  pop = (): unknown => this.#pop()

  /** Everything above the last mark. */
  marked(): unknown[] {
    const at = this.#stack.lastIndexOf(MARK)
    if (at < 0) throw new RangeError()
    return this.#stack.splice(at).slice(1)
  }

  remember(key = this.#memo.size): void {
    this.#memo.set(key, this.#stack.at(-1))
  }

  recall(key: number): void {
    this.push(this.#memo.get(key))
  }

  global(module: string, name: string): void {
    if (!KNOWN.test(`${module} ${name}`)) throw this.#wrong(`it names ${module}.${name}, which is code, not weights`)
    this.push({ kind: 'global', name } satisfies Global)
  }

  setItems(pairs: readonly unknown[]): void {
    const dict = this.#stack.at(-1)
    if (!(dict instanceof Map)) throw this.#wrong('it fills something that is no dictionary')
    for (let i = 0; i + 1 < pairs.length; i += 2) dict.set(pairs[i], pairs[i + 1])
  }

  append(values: readonly unknown[]): void {
    const list = this.#stack.at(-1)
    if (!Array.isArray(list)) throw this.#wrong('it fills something that is no list')
    list.push(...values)
  }

  reduce(): void {
    const [args, callee] = [this.pop() as readonly unknown[], this.pop() as Global]
    this.push(reduced(callee.name, args))
  }

  build(): void {
    const state = this.pop() as readonly unknown[]
    const own = this.#stack.at(-1) as Unbuilt | DType
    if (own.kind === 'dtype') own.bigEndian = state[1] === '>'
    else if (own.kind === 'unbuilt') own.built = arrayOf(state, (reason) => this.#wrong(reason))
  }

  #wrong(reason: string): UserError {
    return new UserError(`${this.#file}: it is not a file of Paddle's weights: ${reason}`, {
      code: 'PARITY_FILE',
      hint: "name what paddle.save(net.state_dict(), ...) or paddle.static.save wrote: rec.pdparams in PaddleRec's model_save_path",
    })
  }
}

function reduced(name: string, args: readonly unknown[]): unknown {
  if (name === '_reconstruct') return { kind: 'unbuilt' } satisfies Unbuilt
  if (name === 'dtype') return { kind: 'dtype', name: String(args[0]), bigEndian: false } satisfies DType
  if (name === 'encode') return Uint8Array.from(String(args[0]), (char) => char.charCodeAt(0))
  return new Map()
}

function arrayOf(state: readonly unknown[], wrong: (reason: string) => UserError): NumpyArray {
  const [, shape, dtype, fortran, bytes] = state as [unknown, readonly number[], DType, boolean, Uint8Array]
  if (!(bytes instanceof Uint8Array)) throw wrong('it holds an array of objects')
  if (fortran && shape.length > 1) throw wrong('it holds an array in the order of columns')
  if (dtype.bigEndian) throw wrong('it was written by a machine of another byte order')
  return { kind: 'array', shape, dtype: dtype.name, bytes }
}

const OPCODES: Readonly<Record<number, (reader: Reader) => void>> = {
  128: (r) => void r.u8(), // PROTO
  149: (r) => void r.u64(), // FRAME
  40: (r) => r.push(MARK),
  125: (r) => r.push(new Map()), // EMPTY_DICT
  93: (r) => r.push([]), // EMPTY_LIST
  41: (r) => r.push([]), // EMPTY_TUPLE
  78: (r) => r.push(null), // NONE
  136: (r) => r.push(true),
  137: (r) => r.push(false),
  74: (r) => r.push(r.i32()), // BININT
  75: (r) => r.push(r.u8()),
  77: (r) => r.push(r.u16()),
  138: (r) => r.push(littleEndian(r.take(r.u8()))), // LONG1
  71: (r) => r.push(r.f64()), // BINFLOAT
  140: (r) => r.push(r.text(r.u8())), // SHORT_BINUNICODE
  88: (r) => r.push(r.text(r.u32())), // BINUNICODE
  141: (r) => r.push(r.text(r.u64())), // BINUNICODE8
  67: (r) => r.push(r.take(r.u8())), // SHORT_BINBYTES
  66: (r) => r.push(r.take(r.u32())), // BINBYTES
  142: (r) => r.push(r.take(r.u64())), // BINBYTES8
  85: (r) => r.push(r.text(r.u8())), // SHORT_BINSTRING
  84: (r) => r.push(r.text(r.u32())), // BINSTRING
  133: (r) => r.push([r.pop()]), // TUPLE1
  134: (r) => r.push([r.pop(), r.pop()].reverse()),
  135: (r) => r.push([r.pop(), r.pop(), r.pop()].reverse()),
  116: (r) => r.push(r.marked()), // TUPLE
  148: (r) => r.remember(), // MEMOIZE
  113: (r) => r.remember(r.u8()), // BINPUT
  114: (r) => r.remember(r.u32()),
  104: (r) => r.recall(r.u8()), // BINGET
  106: (r) => r.recall(r.u32()),
  99: (r) => r.global(r.line(), r.line()), // GLOBAL
  147: (r) => {
    const name = String(r.pop()) // STACK_GLOBAL
    r.global(String(r.pop()), name)
  },
  82: (r) => r.reduce(),
  98: (r) => r.build(),
  115: (r) => r.setItems([r.pop(), r.pop()].reverse()), // SETITEM
  117: (r) => r.setItems(r.marked()), // SETITEMS
  97: (r) => r.append([r.pop()]),
  101: (r) => r.append(r.marked()),
}

function littleEndian(bytes: Uint8Array): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0)
}

/** The array that an entry of a dictionary has come to; undefined for anything else. */
export function arrayIn(value: unknown): NumpyArray | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const own = value as Unbuilt | { kind?: undefined }
  return own.kind === 'unbuilt' ? own.built : undefined
}
