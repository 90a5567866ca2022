/** @file The whole model off its servers and onto them: what saving, loading and digests need. No worker may train meanwhile. */
import { createHash } from 'node:crypto'
import { checkMessage, readBrought } from '../../base/net/index.ts'
import type { LocalParams, Slice } from '../../weights/params/index.ts'
import { type Placement, RowsDigest, serverOf } from '../../weights/table/index.ts'
import { METHODS } from './protocol.ts'
import type { ServerGroup } from './server-group.ts'
import { decodeDense, decodeRows, encodeRows } from './state-service.ts'
import type { DenseState, RowBlock } from './store.ts'

/** Every row of a table, server after server. */
export async function* gatherRows(servers: ServerGroup, table: number): AsyncGenerator<RowBlock> {
  for (let server = 0; server < servers.size; server++) yield* serverRows(servers, server, table)
}

/** One server's rows of a table, or those that changed. The next block is on its way while one is looked at. */
export async function* serverRows(
  servers: ServerGroup,
  server: number,
  table: number,
  changed = false,
): AsyncGenerator<RowBlock> {
  const ask = async (begin: 0 | 1 | 2) => {
    const asked = new Uint8Array(Uint32Array.of(table, begin).buffer)
    const body = await servers.request(server, METHODS.scan, [asked], `scan(table ${table})`)
    return readBrought(nameOf(server), () => decodeRows(body))
  }
  let coming = ask(changed ? 2 : 1)
  for (;;) {
    const block = await coming
    if (block.signs.length === 0) return
    coming = ask(0)
    coming.catch(() => undefined) // thrown where it is waited for
    yield block
  }
}

/** Rows of each table on a server. */
export async function countsOf(servers: ServerGroup, server: number): Promise<Float64Array> {
  const { buffer, byteOffset, byteLength } = await servers.request(server, METHODS.counts, [], 'counts()')
  return readBrought(nameOf(server), () => {
    checkMessage(byteLength % 8 === 0, `counts in ${byteLength} bytes`)
    const counts = new Float64Array(buffer, byteOffset, byteLength / 8)
    checkMessage(counts.every(isCount), 'rows that cannot be counted')
    return counts
  })
}

const nameOf = (server: number) => `server[${server}]`
const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0

/** Rows of each table on all servers. */
export async function gatherCounts(servers: ServerGroup): Promise<readonly number[]> {
  const each = await Promise.all(Array.from({ length: servers.size }, (_, server) => countsOf(servers, server)))
  return Array.from(each[0]!, (_, table) => each.reduce((sum, counts) => sum + counts[table]!, 0))
}

/** Dense weights and optimizer state of all slices, as one process has them: weights, then each run of state. */
export async function gatherDense(servers: ServerGroup, slices: readonly Slice[]): Promise<DenseState> {
  const parts = await Promise.all(
    slices.map(async (_, server) => decodeDense(await servers.request(server, METHODS.dense, [], 'dense()'))),
  )
  const floats = slices.at(-1)!.to
  const held = slices.findIndex(({ from, to }) => to > from)
  const runs = held < 0 ? 1 : parts[held]!.bytes.byteLength / (4 * (slices[held]!.to - slices[held]!.from))
  // Of the first that holds any, and all others must have as many: before room is made for them.
  for (const [server, { from, to }] of slices.entries())
    readBrought(nameOf(server), () => {
      const { byteLength } = parts[server]!.bytes
      const fits = Number.isInteger(runs) && byteLength === 4 * runs * (to - from)
      checkMessage(fits, `${byteLength} bytes of ${to - from} dense values`)
    })
  const bytes = new Uint8Array(4 * floats * runs)
  for (const [server, { from, to }] of slices.entries()) {
    for (let run = 0; run < runs; run++) {
      const part = parts[server]!.bytes.subarray(4 * run * (to - from), 4 * (run + 1) * (to - from))
      bytes.set(part, 4 * (run * floats + from))
    }
  }
  return { bytes, steps: Math.max(...parts.map(({ steps }) => steps)) }
}

/** The other way round. */
export async function scatterDense(
  servers: ServerGroup,
  slices: readonly Slice[],
  { bytes, steps }: DenseState,
): Promise<void> {
  const floats = slices.at(-1)!.to
  const runs = floats === 0 ? 0 : bytes.byteLength / (4 * floats)
  await Promise.all(
    slices.map(({ from, to }, server) => {
      const parts = Array.from({ length: runs }, (_, run) =>
        bytes.subarray(4 * (run * floats + from), 4 * (run * floats + to)),
      )
      const head = new Uint8Array(Uint32Array.of(steps, 0).buffer)
      return servers.request(server, METHODS.loadDense, [head, ...parts], 'loadDense()')
    }),
  )
}

/** Rows to the servers that own them. */
export async function scatterRows(
  servers: ServerGroup,
  placement: Placement,
  table: number,
  { signs, rows }: RowBlock,
): Promise<void> {
  const rowBytes = signs.length === 0 ? 0 : rows.byteLength / signs.length
  const owned = Array.from({ length: servers.size }, (): number[] => [])
  for (let i = 0; i < signs.length; i++) owned[servers.size === 1 ? 0 : serverOf(signs[i]!, placement)]!.push(i)
  await Promise.all(
    owned.map((numbers, server) => {
      if (numbers.length === 0) return undefined
      const own = { signs: new BigUint64Array(numbers.length), rows: new Uint8Array(numbers.length * rowBytes) }
      for (const [to, from] of numbers.entries()) {
        own.signs[to] = signs[from]!
        own.rows.set(rows.subarray(from * rowBytes, (from + 1) * rowBytes), to * rowBytes)
      }
      return servers.request(server, METHODS.load, encodeRows(table, [own]), `load(table ${table})`)
    }),
  )
}

/** SHA-256 over all weights, optimizer state and rows: equal to that of the same model in one process. */
export async function gatherDigest(
  servers: ServerGroup,
  { bytes: dense }: DenseState,
  tables: readonly string[],
): Promise<string> {
  const hash = createHash('sha256').update(dense)
  for (const [table, name] of tables.entries()) {
    const rows = new RowsDigest()
    for await (const block of gatherRows(servers, table)) rows.add(block)
    hash.update(name).update(rows.bytes)
  }
  return hash.digest('hex')
}

/** Copies the servers' model into this process: for saving in one piece. Needs the memory of the whole model. */
export async function gatherParams(servers: ServerGroup, slices: readonly Slice[], into: LocalParams): Promise<void> {
  const { bytes, steps } = await gatherDense(servers, slices)
  into.dense.bytes().set(bytes)
  into.dense.restoreSteps(steps)
  await gatherTables(servers, into)
}

/** The same for rows alone. */
export async function gatherTables(servers: ServerGroup, { tables }: LocalParams): Promise<void> {
  for (const [t, table] of tables.entries())
    for await (const { signs, rows } of gatherRows(servers, t)) table.load(signs, rows)
}

/** Gives a model of this process to the servers. */
export async function scatterParams(
  servers: ServerGroup,
  slices: readonly Slice[],
  placement: Placement,
  from: LocalParams,
): Promise<void> {
  await scatterDense(servers, slices, { bytes: from.dense.bytes().slice(), steps: from.dense.steps })
  await scatterTables(servers, placement, from)
}

/** The same for rows alone. */
export async function scatterTables(
  servers: ServerGroup,
  placement: Placement,
  { tables }: LocalParams,
): Promise<void> {
  for (const [t, table] of tables.entries())
    for (const { signs, rows } of table.scan())
      await scatterRows(servers, placement, t, { signs: signs.slice(), rows: rows.slice() })
}
