/** @file Memory for the arrays of one frame, used again for the next: new arrays of every frame cost more than what is put into them. */

export interface Area {
  /** What was given out before is over. */
  clear(): void
  /** Arrays with anything in them. */
  uint32(length: number): Uint32Array<ArrayBuffer>
}

/** Every array begins where any number may lie. */
const ALIGN = 8

export function createArea(): Area {
  let buffer = new ArrayBuffer(0)
  let used = 0
  return {
    clear: () => {
      // What did not fit was given memory of its own.
      if (used > buffer.byteLength) buffer = new ArrayBuffer(used * 2)
      used = 0
    },
    uint32: (length) => {
      const at = used
      used += Math.ceil((length * 4) / ALIGN) * ALIGN
      return used <= buffer.byteLength ? new Uint32Array(buffer, at, length) : new Uint32Array(length)
    },
  }
}
