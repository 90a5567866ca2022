/**
 * @file What every group must do, as cases that each rank runs: what a rank gives is a function of its number, so that every
 * rank can say what must come out. A case throws what is wrong and returns the bytes that must be the same on every rank.
 */
const TYPES = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
}
/** Odd ones, less than there are ranks, and (of float32) nothing, and more than goes in one piece. Every call costs a rank that waits for a core. */
const lengthsOf = (type, reduction) =>
  type === 'float32' && reduction === 'sum' ? [0, 1, 2, 7, 1001, 600_001] : [1, 20_011]
const REDUCTIONS = ['sum', 'mean', 'max']
const PERIOD = 50

/** Numbers of rank `rank`: small whole ones whose sum is exact in every type; in uint8 sums wrap around. */
function given(type, rank, length, seed = 0) {
  return repeated(type, length, (i) => {
    const value = ((i * 7 + rank * 13 + seed * 29) % PERIOD) - (type === 'uint8' ? 0 : 25)
    return type === 'int64' ? BigInt(value) * 1_000_000_007n : value
  })
}

function reduced(type, size, length, reduction) {
  const ranks = Array.from({ length: size }, (_, rank) => given(type, rank, PERIOD))
  const one = new TYPES[type](1)
  return repeated(type, length, (i) => {
    one[0] = ranks[0][i]
    for (const values of ranks.slice(1)) {
      if (reduction !== 'max') one[0] += values[i]
      else if (values[i] > one[0]) one[0] = values[i]
    }
    if (reduction !== 'mean') return one[0]
    return type === 'int64' ? one[0] / BigInt(size) : one[0] / size
  })
}

/** The first numbers, over and over. */
function repeated(type, length, valueAt) {
  const values = new TYPES[type](length)
  for (let i = 0; i < Math.min(length, PERIOD); i++) values[i] = valueAt(i)
  for (let done = PERIOD; done < length; done *= 2) values.copyWithin(done, 0, done)
  return values
}

function same(what, got, expected) {
  if (got.length !== expected.length) throw new Error(`${what}: ${got.length} numbers, expected ${expected.length}`)
  if (ArrayBuffer.isView(got) && ArrayBuffer.isView(expected) && bytes(got).equals(bytes(expected))) return
  for (let i = 0; i < got.length; i++) {
    const near =
      typeof got[i] === 'bigint'
        ? got[i] === expected[i]
        : Math.abs(got[i] - expected[i]) <= 1e-6 * Math.abs(expected[i])
    if (!near) throw new Error(`${what}[${i}]: ${got[i]}, expected ${expected[i]}`)
  }
}

const bytes = (values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)
const even = (length, size) =>
  Array.from({ length: size }, (_, r) => Math.floor(length / size) + (r < length % size ? 1 : 0))
const start = (counts, rank) => counts.slice(0, rank).reduce((sum, count) => sum + count, 0)
/** Uneven, with ranks that have nothing. */
const uneven = (size, scale) => Array.from({ length: size }, (_, rank) => (rank % 2 === 1 ? 0 : rank * scale + 3))

const cases = {}
for (const type of Object.keys(TYPES)) {
  for (const reduction of REDUCTIONS) {
    cases[`all-reduce of ${type} by ${reduction}`] = async (group) => {
      const out = []
      for (const length of lengthsOf(type, reduction)) {
        const values = given(type, group.rank, length)
        await group.allReduce(values, reduction)
        same(`length ${length}`, values, reduced(type, group.size, length, reduction))
        out.push(bytes(values))
      }
      return Buffer.concat(out)
    }
    cases[`reduce-scatter of ${type} by ${reduction}`] = async (group) => {
      const lists = [...lengthsOf(type, reduction).map((length) => even(length, group.size)), uneven(group.size, 111)]
      for (const counts of lists) {
        const total = start(counts, group.size)
        const values = given(type, group.rank, total)
        const own = await group.reduceScatter(values, reduction, counts)
        const from = start(counts, group.rank)
        const expected = reduced(type, group.size, total, reduction).subarray(from, from + counts[group.rank])
        same(`part of ${counts}`, own, expected)
        same('what was given', values, given(type, group.rank, total))
      }
      const own = await group.reduceScatter(given(type, group.rank, 11), reduction)
      same('even parts', [own.length], [even(11, group.size)[group.rank]])
    }
  }
  cases[`broadcast of ${type} from every rank`] = async (group) => {
    for (let root = 0; root < group.size; root++) {
      for (const length of lengthsOf(type, root === 0 ? 'sum' : 'max')) {
        const values = given(type, group.rank, length, root)
        await group.broadcast(values, root)
        same(`from ${root}`, values, given(type, root, length, root))
      }
    }
  }
  cases[`all-gather of ${type}, sizes by rank and empty ranks`] = async (group) => {
    const out = []
    for (const scale of type === 'float32' ? [0, 1, 30_000] : [1, 30_000]) {
      const sizes = uneven(group.size, scale)
      for (const counts of [undefined, sizes]) {
        const got = await group.allGather(given(type, group.rank, sizes[group.rank]), counts)
        same('counts', got.counts, sizes)
        for (let rank = 0; rank < group.size; rank++) {
          const from = start(sizes, rank)
          same(`of rank ${rank}`, got.values.subarray(from, from + sizes[rank]), given(type, rank, sizes[rank]))
        }
        out.push(Buffer.from(bytes(got.values)))
      }
    }
    await group.allGather(given(type, group.rank, 0))
    return Buffer.concat(out)
  }
  cases[`all-to-all of ${type}, sizes by rank and empty ranks`] = async (group) => {
    for (const scale of type === 'float32' ? [0, 1, 30_000] : [1, 30_000]) {
      const amount = (from, to) => (from === to && scale === 1 ? 0 : ((from + 2 * to) % 3) * scale)
      const ranks = Array.from({ length: group.size }, (_, rank) => rank)
      const counts = ranks.map((to) => amount(group.rank, to))
      const values = new TYPES[type](start(counts, group.size))
      for (const to of ranks) values.set(given(type, group.rank, counts[to], to), start(counts, to))
      const got = await group.allToAll(values, counts)
      same(
        'counts',
        got.counts,
        ranks.map((from) => amount(from, group.rank)),
      )
      for (const from of ranks) {
        const at = start(got.counts, from)
        same(
          `from ${from}`,
          got.values.subarray(at, at + got.counts[from]),
          given(type, from, got.counts[from], group.rank),
        )
      }
    }
  }
}

cases['sums that round are the same bits on every rank, and again when repeated'] = async (group) => {
  const scales = Array.from({ length: 9 }, (_, i) => 10 ** i)
  const all = []
  for (const Type of [Float32Array, Float64Array]) {
    for (const length of [1, 5, 100, 4099, 300_003]) {
      const once = Type.from({ length }, (_, i) => Math.sin(i * 1.1 + group.rank * 17.3) * scales[(i + group.rank) % 9])
      const again = once.slice()
      await group.allReduce(once, 'sum')
      await group.allReduce(again, 'sum')
      if (!bytes(once).equals(bytes(again))) throw new Error(`another result of the same sum, length ${length}`)
      all.push(bytes(once))
    }
  }
  return Buffer.concat(all)
}
cases['shared memory is worked on in place, also where it does not start at 0'] = async (group) => {
  const values = new Float32Array(new SharedArrayBuffer(4096), 128, 500)
  values.fill(group.rank + 1)
  await group.allReduce(values, 'sum')
  same('values', values, new Float32Array(500).fill((group.size * (group.size + 1)) / 2))
  same('before', new Float32Array(values.buffer, 0, 32), new Float32Array(32))
  return bytes(values)
}
cases['what rounds to nothing and what is not a number'] = async (group) => {
  const values = new Float32Array([
    group.rank === 0 ? Number.NaN : 1,
    group.rank === 1 ? Number.POSITIVE_INFINITY : 0,
    1e-42,
  ])
  await group.allReduce(values, 'sum')
  if (!Number.isNaN(values[0]) || values[1] !== Number.POSITIVE_INFINITY) throw new Error(`got ${values}`)
}
cases['barriers, and many small calls in a row'] = async (group) => {
  for (let i = 0; i < 20; i++) {
    await group.barrier()
    const values = new Int32Array(3).fill(i)
    await group.allReduce(values, 'sum')
    same('values', values, new Int32Array(3).fill(i * group.size))
  }
}

/** Where calls are slow: they cross hosts, or ranks that wait keep the cores from the others. */
const someCases = Object.fromEntries(
  Object.entries(cases).filter(([name]) => /float32 (by sum|from)|int64, sizes|same bits/.test(name)),
)

export { cases, someCases }
