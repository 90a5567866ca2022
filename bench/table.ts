/** @file A table alone: lookups and updates a second, memory per row, longest pause. `table.ts ROWS skewed|uniform` */
import { availableParallelism } from 'node:os'
import { WorkspacePlan } from '../src/base/kernel/index.ts'
import { optimizer, stepFactors } from '../src/weights/optim/index.ts'
import { createTable, SparseTable } from '../src/weights/table/index.ts'

const [rows, draw] = [Number(process.argv[2]), process.argv[3] as 'skewed' | 'uniform']
const [DIM, SIGNS, PAYLOAD] = [9, 512 * 26, 116]
const segments = 8
const adam = optimizer.adam({ lazy: true })
const handle = createTable({
  name: 'bench',
  dim: DIM,
  init: { kind: 'uniform', low: -1, high: 1 },
  optimizer: adam,
  seed: 1,
  segments,
})
const table = new SparseTable(handle, 0)
const plan = new WorkspacePlan()
const [signsAt, tableAt, arrival, place] = [8 * SIGNS, 4 * 32768, 8 * SIGNS, 4 * SIGNS].map(
  (bytes) => plan.region(bytes).at,
)
const [inverse, distinctAt, lengthsAt, rowsAt] = [4 * SIGNS, 8 * SIGNS, 4 * segments, 4 * SIGNS * DIM].map(
  (bytes) => plan.region(bytes).at,
)
const { kernel, buffer } = plan.open()
const signs = new BigUint64Array(buffer, signsAt, SIGNS)
const rss = () => process.memoryUsage().rss
const before = rss()

/** Distinct signs of what `signs` holds. */
function distinct() {
  const found = kernel.dedupe(
    signsAt!,
    SIGNS,
    Math.log2(segments),
    tableAt!,
    32767,
    arrival!,
    place!,
    inverse!,
    distinctAt!,
    lengthsAt!,
  )
  return { signs: new BigUint64Array(buffer, distinctAt, found), lengths: new Uint32Array(buffer, lengthsAt, segments) }
}

const values = new Float32Array(buffer, rowsAt, SIGNS * DIM)
let [longestMs, worstBytes] = [0, 0]
for (let row = 0; row < rows; row += SIGNS) {
  for (let i = 0; i < SIGNS; i++) signs[i] = BigInt(Math.min(row + i, rows - 1))
  const wanted = distinct()
  const start = performance.now()
  table.lookup(wanted, values, true)
  longestMs = Math.max(longestMs, performance.now() - start)
  if (row > 500_000) worstBytes = Math.max(worstBytes, table.usedBytes / table.rowCount)
}
const filled = table.rowCount
const resident = (rss() - before) / filled

// As criteo-like draws ids: log-uniform over all rows; or uniform, the worst case.
const pick = {
  skewed: () => Math.floor(rows ** Math.random()) % rows,
  uniform: () => Math.floor(rows * Math.random()),
}[draw]
const spent = { lookup: 0, update: 0, signs: 0 }
const BATCHES = 300
for (let k = -50; k < BATCHES; k++) {
  for (let i = 0; i < SIGNS; i++) signs[i] = BigInt(pick())
  const start = performance.now()
  const wanted = distinct()
  table.lookup(wanted, values, true)
  const middle = performance.now()
  table.update(wanted, values, stepFactors(adam, k + 51))
  if (k < 0) continue
  spent.lookup += middle - start
  spent.update += performance.now() - middle
  spent.signs += SIGNS
}
const nanoseconds = (ms: number) => (ms * 1e6) / spent.signs
console.log(
  JSON.stringify({
    rows: filled,
    draw,
    cores: availableParallelism(),
    lookupNs: nanoseconds(spent.lookup),
    updateNs: nanoseconds(spent.update),
    bytesPerRow: resident,
    worstBytesPerRow: worstBytes,
    payload: PAYLOAD,
    longestInsertBatchMs: longestMs,
  }),
)
