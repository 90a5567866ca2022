// Copies of a row. memory.copy leaves WebAssembly, which takes longer than a hundred bytes do.

/** `bytes` of one place to another that does not overlap it. */
@inline export function copyBytes(to: usize, from: usize, bytes: usize): void {
  let end = from + bytes;
  for (; from + 16 <= end; from += 16, to += 16) v128.store(to, v128.load(from));
  for (; from + 4 <= end; from += 4, to += 4) store<u32>(to, load<u32>(from));
  for (; from < end; from++, to++) store<u8>(to, load<u8>(from));
}
