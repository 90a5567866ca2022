// A segment's memory: where its parts lie, how space is handed out, and its lock.
//
//   0          AssemblyScript's own constants
//   HEADER     lock, bump pointer, depth, counts, page lists, one epoch slot per thread
//   DIRECTORY  u32 page address by the low `depth` bits of the hash; doubling appends a copy, so readers never see a move
//   then       index pages, row slabs and scratch areas, in order of allocation

const HEADER: usize = 0x10000;
export const DIRECTORY: usize = 0x20000;
export const MAX_DEPTH: u32 = 21;
const FIRST_FREE: usize = DIRECTORY + (4 << MAX_DEPTH);

const LOCK: usize = HEADER;
export const RETIRED: usize = HEADER + 4;       // how many pages wait for their readers to leave
const BUMP: usize = HEADER + 8;                 // u64: next free address (may reach 2^32)
export const DEPTH: usize = HEADER + 16;
export const ROWS: usize = HEADER + 20;
export const EPOCH: usize = HEADER + 24;
export const RETIRED_HEAD: usize = HEADER + 28; // pages waiting for their readers to leave, oldest first
export const RETIRED_TAIL: usize = HEADER + 32;
export const FREED: usize = HEADER + 36;        // rows that were deleted, each naming the next
export const SLAB: usize = HEADER + 40;         // u64 next row, u64 end of the slab
export const SLAB_END: usize = HEADER + 48;
export const WHOLLY: usize = HEADER + 56;       // all rows count as changed
export const TICK: usize = HEADER + 60;         // when rows that are made now were last wanted (segment-tier.ts)
export const SLOTS: usize = HEADER + 64;        // u32 epoch a thread entered at, 0 when outside
export const THREADS: usize = 256;
export const RULES: usize = HEADER + 0x1000;    // constants of an accessor's two rules, the same for every thread
export const SWEPT: usize = HEADER + 0x2000;    // room for one page, under the lock
export const MARKS: usize = HEADER + 0x8000;    // u32 by MiB: where the marks of its rows are

const GROW_PAGES: i32 = 64;           // 4 MiB a step: memory is reserved, growing only makes it accessible
const MEMORY_LIMIT: u64 = 0xffff0000; // the last 64 KiB stay unused so that no address wraps

/** Once per segment, before anything is allocated. */
export function createMemory(): void {
  store<u64>(BUMP, FIRST_FREE);
  store<u32>(EPOCH, 1);
}

export function usedBytes(): f64 { return <f64>load<u64>(BUMP) - <f64>(FIRST_FREE - DIRECTORY) + <f64>(4 << atomic.load<u32>(DEPTH)); }

/** Space for a thread's own buffers; 0 when the segment is full. */
export function reserve(bytes: u32): usize {
  acquire();
  let at = allocate(bytes);
  release();
  return at;
}

// Only under the lock. Fresh memory is zero.
export function allocate(bytes: u32): usize {
  let at = (load<u64>(BUMP) + 63) & ~63;
  let end = at + bytes;
  if (end > MEMORY_LIMIT) return 0;
  let pages = <i32>((end + 0xffff) >> 16) - memory.size();
  if (pages > 0 && memory.grow(max(pages, GROW_PAGES)) < 0 && memory.grow(pages) < 0) return 0;
  store<u64>(BUMP, end);
  return <usize>at;
}

// 0 free, 1 held, 2 held and waited for: waking costs a call out of the kernel, so only a lock that is waited for does it.
export function acquire(): void {
  for (let spins = 0; spins < 64; spins++) if (atomic.cmpxchg<u32>(LOCK, 0, 1) == 0) return;
  // The holder may be off its core: give it up instead of burning it.
  while (atomic.xchg<u32>(LOCK, 2) != 0) atomic.wait<i32>(LOCK, 2, -1);
}

export function release(): void {
  if (atomic.xchg<u32>(LOCK, 0) == 2) atomic.notify(LOCK, 1);
}
