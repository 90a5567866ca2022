/** @file Binding of the kernel that takes logarithms of columns in place. */
import { loadKernel, WASM_PAGE_BYTES } from './load.ts'

interface LogExports {
  logColumn(at: number, length: number): void
}

/** One page is the kernel's own; of the others it may write a little behind what it is given. */
const PAGES = 5
const ROOM = ((PAGES - 1) * WASM_PAGE_BYTES) / 4 - 16

/** sign(x) log(1 + |x|) of the first `length` values: what signedLog in data/features gives for each. */
export type LogColumn = (values: Float32Array, length: number) => void

export function createLogColumn(): LogColumn {
  const memory = new WebAssembly.Memory({ initial: PAGES })
  const { logColumn } = loadKernel<LogExports>('log', memory)
  const room = new Float32Array(memory.buffer, WASM_PAGE_BYTES, ROOM)
  return (values, length) => {
    for (let from = 0; from < length; from += ROOM) {
      const part = values.subarray(from, Math.min(from + ROOM, length))
      room.set(part)
      logColumn(WASM_PAGE_BYTES, part.length)
      part.set(room.subarray(0, part.length))
    }
  }
}
