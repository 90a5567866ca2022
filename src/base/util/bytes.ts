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

/** What SIZE allows, `1.5 kB` as 1500. */
export function sizeOf(text: string): number {
  const [, amount, unit] = SIZE.exec(text) ?? []
  return Math.round(Number(amount) * 1000 ** ['kb', 'mb', 'gb', 'tb'].indexOf(unit!.toLowerCase()) * 1000)
}

/** An amount of memory as people write it. */
export const SIZE = /^(\d+(?:\.\d+)?) ?(kb|mb|gb|tb)$/i
