/** @file The part of the WebAssembly API the kernels use: Node's types have none of it and the DOM's bring a browser along. */
declare namespace WebAssembly {
  function validate(bytes: ArrayBufferView): boolean
  class Module {
    constructor(bytes: ArrayBufferView)
  }
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number; shared?: boolean })
    readonly buffer: ArrayBuffer | SharedArrayBuffer
    /** By so many pages of 64 KiB; `buffer` is longer then, in all threads that have it. */
    grow(pages: number): number
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>)
    readonly exports: unknown
  }
}
