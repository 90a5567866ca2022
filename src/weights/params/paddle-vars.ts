/** @file Paddle's binary form of one variable, as in `dnn_plugin/`: versions, a description of the tensor, its values. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../base/util/index.ts'
import type { PaddleVar } from './paddle-order.ts'

export interface VarValues extends PaddleVar {
  readonly values: Float32Array
}

export const PLUGIN_FOLDER = 'dnn_plugin'
export const MODEL_FILE = '__model__'

const FLOAT32 = 5 // of Paddle's VarType

/** Every variable of `dnn_plugin/`; undefined where there is no such folder. */
export async function readPlugin(folder: string): Promise<readonly VarValues[] | undefined> {
  const plugin = join(folder, PLUGIN_FOLDER)
  const names = await readdir(plugin).catch(() => undefined)
  if (!names) return undefined
  const vars = names.filter((name) => name !== MODEL_FILE && !name.startsWith('.'))
  return Promise.all(vars.map(async (name) => parseVar(name, await readFile(join(plugin, name)), join(plugin, name))))
}

/** Writes `dnn_plugin/`: the graph and one file a variable. */
export async function writePlugin(folder: string, model: Uint8Array, vars: readonly VarValues[]): Promise<void> {
  const plugin = join(folder, PLUGIN_FOLDER)
  await mkdir(plugin, { recursive: true })
  await writeFile(join(plugin, MODEL_FILE), model)
  await Promise.all(vars.map((one) => writeFile(join(plugin, one.name), encodeVar(one))))
}

/** u32 version, u64 levels of nesting, u32 version, u32 bytes of the description, the description, values. */
export function encodeVar({ dims, values }: Omit<VarValues, 'name'>): Buffer {
  const description = Buffer.from([0x08, FLOAT32, ...dims.flatMap((dim) => [0x10, ...varint(dim)])])
  const head = Buffer.alloc(20)
  head.writeUInt32LE(description.length, 16)
  return Buffer.concat([head, description, Buffer.from(values.buffer, values.byteOffset, values.byteLength)])
}

function parseVar(name: string, bytes: Buffer, path: string): VarValues {
  const damaged = (problem: string) =>
    new UserError(`this is not a variable that can be read: ${problem}`, {
      code: 'PADDLE_FILES_DAMAGED',
      where: { file: path },
      hint: 'name a folder whose dnn_plugin/ was written by save_inference_model',
    })
  if (bytes.length < 20 || bytes.readUInt32LE(0) !== 0) throw damaged('it does not begin as one')
  if (bytes.readBigUInt64LE(4) !== 0n) throw damaged('its values are nested')
  const end = 20 + bytes.readUInt32LE(16)
  const dims: number[] = []
  for (let at = 20; at < end; ) {
    const field = bytes[at]! >> 3
    const { value, next } = readVarint(bytes, at + 1)
    if (field === 1 && value !== FLOAT32) throw damaged(`its type is number ${value}, not float32`)
    if (field === 2) dims.push(value)
    at = next
  }
  const size = dims.reduce((product, dim) => product * dim, 1)
  if (bytes.length - end !== 4 * size) throw damaged(`it has ${bytes.length - end} bytes for ${size} values`)
  return {
    name,
    dims,
    values: new Float32Array(bytes.buffer.slice(bytes.byteOffset + end, bytes.byteOffset + bytes.length)),
  }
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let left = value
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) | 128)
  return [...bytes, left]
}

function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly next: number } {
  let [value, factor, at] = [0, 1, start]
  for (; bytes[at]! >= 128; at++, factor *= 128) value += (bytes[at]! & 127) * factor
  return { value: value + bytes[at]! * factor, next: at + 1 }
}
