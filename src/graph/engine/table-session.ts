/** @file Tables on a device, trained there: uploaded once, a batch's row numbers and gradients a step, read back whole at the end. */
import type * as ort from 'onnxruntime-node'
import type { Device } from '../../base/device/index.ts'
import { UserError } from '../../base/util/index.ts'
import { encodeModel, type TableRule, tableInputs, tableStep, trainedTable, trainedTables } from '../onnx/index.ts'
import type { Program, TensorType } from '../program/index.ts'
import type { TensorView } from './engine.ts'
import { openSession, ortTensor } from './ort-values.ts'

export interface TableSession {
  /** Puts a table on the device: [rows, width]. The one that was there goes. */
  upload(table: string, rows: TensorView): Promise<void>
  /** One step. Inputs are those of tableStep but the tables; the outputs named here are filled. */
  run(inputs: Readonly<Record<string, TypedView>>, outputs: Readonly<Record<string, TypedView>>): Promise<void>
  /** The table as training left it. */
  download(table: string): Promise<Float32Array>
  /** Bytes that went to the device or came from it since the start. */
  readonly movedBytes: number
  close(): Promise<void>
}

export interface TypedView extends TensorView {
  readonly dtype: TensorType['dtype']
}

export interface TableSessionOptions {
  readonly program: Program
  readonly device: Device
  readonly ruleOf: (table: string) => TableRule
}

/** Identity, which moves a tensor: from the device where its output is the host's, to it where it is not. */
const MOVE = encodeModel({
  opset: 18,
  name: 'move',
  nodes: [{ type: 'Identity', inputs: ['from'], output: 'to', attributes: {} }],
  initializers: [],
  inputs: [{ name: 'from', shape: ['rows', 'width'], dtype: 'float32' }],
  outputs: [{ name: 'to', shape: ['rows', 'width'], dtype: 'float32' }],
})

export async function openTableSession(options: TableSessionOptions): Promise<TableSession> {
  const { program, device, ruleOf } = options
  const { maxBufferBytes = Number.POSITIVE_INFINITY } = device
  const step = await openSession(encodeModel(tableStep(program, ruleOf)), { device })
  const up = await openSession(MOVE, { device, stays: true })
  const down = await openSession(MOVE, { device })
  const tables = new Map<string, ort.Tensor>()
  const count = { bytes: 0 }
  const tensors = (views: Readonly<Record<string, TypedView>>) =>
    Object.fromEntries(
      Object.entries(views).map(([name, view]) => {
        count.bytes += view.data.byteLength
        return [name, ortTensor(view.dtype, view)] as const
      }),
    )
  const dispose = (table: string) => {
    tables.get(table)?.dispose()
    tables.delete(table)
  }
  return {
    async upload(table, rows) {
      if (rows.data.byteLength > maxBufferBytes) throw tooLarge(table, rows.data.byteLength, maxBufferBytes, device)
      dispose(table)
      count.bytes += rows.data.byteLength
      const { to } = await up.run({ from: ortTensor('float32', rows) })
      tables.set(table, to!)
    },
    async run(inputs, outputs) {
      // The same buffer in and out: it is written in place, and only where a row was trained.
      const feeds = program.tables.map(({ name }) => [tableInputs(name).table, tables.get(name)!] as const)
      const fetches = trainedTables(program).map((name) => [trainedTable(name), tables.get(name)!] as const)
      await step.run(
        { ...tensors(inputs), ...Object.fromEntries(feeds) },
        { ...tensors(outputs), ...Object.fromEntries(fetches) },
      )
    },
    async download(table) {
      const { to } = await down.run({ from: tables.get(table)! })
      const rows = to!.data as Float32Array
      count.bytes += rows.byteLength
      return rows
    },
    get movedBytes() {
      return count.bytes
    },
    async close() {
      for (const table of [...tables.keys()]) dispose(table)
      for (const session of [step, up, down]) await session.release()
    },
  }
}

function tooLarge(table: string, bytes: number, most: number, { name }: Device): UserError {
  const mib = (value: number) => `${Math.ceil(value / 2 ** 20)} MiB`
  return new UserError(
    `The rows of table "${table}" take ${mib(bytes)}; ${name} has buffers of at most ${mib(most)}.`,
    {
      code: 'DEVICE_LIMIT',
      hint: 'Cut epochs into smaller passes (runner.pass_memory), or train with runner.device: cpu.',
    },
  )
}
