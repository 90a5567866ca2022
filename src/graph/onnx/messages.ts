/** @file The ONNX messages Oarfish writes, over protobuf's wire writer. Field numbers are those of onnx.proto3. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Dim, DType } from '../program/index.ts'

export interface OnnxTensor {
  readonly name: string
  readonly dims: readonly number[]
  readonly dtype: DType
  /** Large ones as typed arrays of the dtype. */
  readonly values: readonly number[] | Float32Array | BigInt64Array
}
export type OnnxAttribute = number | { readonly float: number } | readonly number[] | string
export interface OnnxNode {
  readonly type: string
  readonly inputs: readonly string[]
  readonly output: string
  readonly attributes: Readonly<Record<string, OnnxAttribute>>
  /** Which of the op's outputs is wanted; those before it get names nobody uses. @default 0 */
  readonly outputIndex?: number | undefined
}
export interface OnnxValue {
  readonly name: string
  readonly shape: readonly Dim[]
  readonly dtype: DType
}
export interface OnnxModel {
  readonly opset: number
  readonly name: string
  readonly nodes: readonly OnnxNode[]
  readonly initializers: readonly OnnxTensor[]
  readonly inputs: readonly OnnxValue[]
  readonly outputs: readonly OnnxValue[]
}

/** TensorProto.DataType */
const DATA_TYPE: Readonly<Record<DType, number>> = { float32: 1, int32: 6, int64: 7, bool: 9, float64: 11 }
/** AttributeProto.AttributeType */
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 } as const
const IR_VERSION = 8

type Write = (writer: BinaryWriter) => BinaryWriter

export function encodeModel(model: OnnxModel): Uint8Array {
  const opset: Write = (writer) => int(text(writer, 1, ''), 2, model.opset)
  const writer = text(int(new BinaryWriter(), 1, IR_VERSION), 2, 'oarfish')
  return message(
    message(writer, 7, (w) => graph(w, model)),
    8,
    opset,
  ).finish()
}

/** The dtype number, for Cast. */
export function dataType(dtype: DType): number {
  return DATA_TYPE[dtype]
}

function graph(writer: BinaryWriter, { nodes, name, initializers, inputs, outputs }: OnnxModel): BinaryWriter {
  for (const item of nodes) message(writer, 1, (w) => node(w, item))
  text(writer, 2, name)
  for (const item of initializers) message(writer, 5, (w) => tensor(w, item))
  for (const item of inputs) message(writer, 11, (w) => valueInfo(w, item))
  for (const item of outputs) message(writer, 12, (w) => valueInfo(w, item))
  return writer
}

function node(writer: BinaryWriter, { inputs, output, type, attributes, outputIndex = 0 }: OnnxNode): BinaryWriter {
  for (const input of inputs) text(writer, 1, input)
  for (let i = 0; i < outputIndex; i++) text(writer, 2, `${output}.${i}`)
  text(text(writer, 2, output), 3, output)
  text(writer, 4, type)
  for (const [name, value] of Object.entries(attributes)) message(writer, 5, (w) => attribute(w, name, value))
  return writer
}

function attribute(writer: BinaryWriter, name: string, value: OnnxAttribute): BinaryWriter {
  text(writer, 1, name)
  if (typeof value === 'number') return int(int(writer, 3, value), 20, ATTRIBUTE.int)
  if (typeof value === 'string') return int(text(writer, 4, value), 20, ATTRIBUTE.string)
  if (!isList(value)) return int(writer.tag(2, WireType.Bit32).float(value.float), 20, ATTRIBUTE.float)
  for (const item of value) int(writer, 8, item)
  return int(writer, 20, ATTRIBUTE.ints)
}

function tensor(writer: BinaryWriter, { dims, dtype, name, values }: OnnxTensor): BinaryWriter {
  for (const dim of dims) int(writer, 1, dim)
  text(int(writer, 2, DATA_TYPE[dtype]), 8, name)
  return writer.tag(9, WireType.LengthDelimited).bytes(rawData(dtype, values))
}

function valueInfo(writer: BinaryWriter, { name, shape, dtype }: OnnxValue): BinaryWriter {
  const dim =
    (value: Dim): Write =>
    (w) =>
      typeof value === 'number' ? int(w, 1, value) : text(w, 2, value)
  const dims: Write = (w) => shape.reduce((to, value) => message(to, 1, dim(value)), w)
  const tensorType: Write = (w) => message(int(w, 1, DATA_TYPE[dtype]), 2, dims)
  return message(text(writer, 1, name), 2, (w) => message(w, 1, tensorType))
}

/** Little-endian bytes, as TensorProto.raw_data wants them. */
function rawData(dtype: DType, values: OnnxTensor['values']): Uint8Array {
  if (!isList(values)) return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const [bytes, set] = RAW[dtype]
  const view = new DataView(new ArrayBuffer(values.length * bytes))
  values.forEach((value, i) => {
    set(view, i * bytes, value)
  })
  return new Uint8Array(view.buffer)
}

/** Array.isArray narrows no readonly arrays. */
function isList(value: unknown): value is readonly number[] {
  return Array.isArray(value)
}

const RAW: Readonly<Record<DType, readonly [number, (view: DataView, at: number, value: number) => void]>> = {
  float32: [4, (view, at, value) => view.setFloat32(at, value, true)],
  float64: [8, (view, at, value) => view.setFloat64(at, value, true)],
  int64: [8, (view, at, value) => view.setBigInt64(at, BigInt(value), true)],
  int32: [4, (view, at, value) => view.setInt32(at, value, true)],
  bool: [1, (view, at, value) => view.setUint8(at, value)],
}

function message(writer: BinaryWriter, field: number, write: Write): BinaryWriter {
  return write(writer.tag(field, WireType.LengthDelimited).fork()).join()
}

function text(writer: BinaryWriter, field: number, value: string): BinaryWriter {
  return writer.tag(field, WireType.LengthDelimited).string(value)
}

function int(writer: BinaryWriter, field: number, value: number): BinaryWriter {
  return writer.tag(field, WireType.Varint).int64(value)
}
