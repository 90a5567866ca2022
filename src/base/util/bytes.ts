/** @file Memory seen as bytes, and amounts of it in words. */

/** The same memory as bytes. */
export function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** 1530 as `1.5 kB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${power === 0 ? Math.round(bytes) : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`
}
