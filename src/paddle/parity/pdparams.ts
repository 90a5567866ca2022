/** @file `.pdparams`: the weights of a net by their names, as paddle.save and paddle.static.save write them. */
import { readFile } from 'node:fs/promises'
import { shown, UserError } from '../../base/util/index.ts'
import { arrayIn, type NumpyArray, readPickle } from './pickle.ts'

export interface PaddleWeight {
  /** `fm.embedding.weight` of a dynamic graph, `linear_0.w_0` of a static one. */
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array
}

const STRUCTURE = 'StructuredToParameterName@@'

export async function readPdparams(path: string): Promise<readonly PaddleWeight[]> {
  const file = shown(path)
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message
    throw new UserError(`--paddle ${file}: ${reason}`, {
      code: 'PARITY_FILE',
      hint: 'name the .pdparams that Paddle wrote',
      cause: error,
    })
  })
  const read = readPickle(bytes, file)
  if (!(read instanceof Map)) throw notWeights(file, 'it holds no dictionary')
  const weights = [...read].flatMap(([name, value]) => {
    const array = name === STRUCTURE ? undefined : arrayIn(value)
    return array ? [{ name: String(name), shape: array.shape, values: floats(array, String(name), file) }] : []
  })
  if (weights.length === 0) throw notWeights(file, 'it holds no arrays')
  return weights
}

function floats({ dtype, bytes, shape }: NumpyArray, name: string, file: string): Float32Array {
  const count = shape.reduce((product, size) => product * size, 1)
  const copy = new Uint8Array(bytes).buffer // aligned, and no view of the whole file
  if (dtype === 'f4' && copy.byteLength === 4 * count) return new Float32Array(copy)
  if (dtype === 'f8' && copy.byteLength === 8 * count) return Float32Array.from(new Float64Array(copy))
  if (dtype === 'i8') return Float32Array.from(new BigInt64Array(copy), Number)
  throw notWeights(file, `${name} is of type ${dtype}`)
}

function notWeights(file: string, reason: string): UserError {
  return new UserError(`${file}: it is not a file of Paddle's weights: ${reason}`, {
    code: 'PARITY_FILE',
    hint: "name what paddle.save(net.state_dict(), ...) or paddle.static.save wrote: rec.pdparams in PaddleRec's model_save_path",
  })
}
