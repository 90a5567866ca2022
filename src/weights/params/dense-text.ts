/** @file Dense weights as the text files that Paddle's servers write: `part-{server}[.gz]`, a line an element: weight and state. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gzip, type ZlibOptions } from 'node:zlib'
import { FLOAT_BYTES, LineParser, noTable, readLines, tableFolder, writeFloat } from '../table/index.ts'
import type { DenseLayout } from './dense-layout.ts'
import { otherWeights, paddleOrder } from './paddle-order.ts'

/** Weights, then runs of optimizer state, as a dense block holds them. */
export interface DenseValues {
  readonly values: Float32Array
  readonly steps: number
}

export interface DenseTextOptions {
  readonly folder: string
  /** The table's number: the one after the sparse tables. */
  readonly number: number
  readonly layout: DenseLayout
}

/** What our own saves know besides: Paddle's files have no step count. */
const NOTES = 'oarfish.json'

export async function saveDenseText(
  { folder, number, layout }: DenseTextOptions,
  { values, steps }: DenseValues,
  { servers, compress = true }: { readonly servers: number; readonly compress?: boolean },
): Promise<void> {
  const into = join(folder, tableFolder(number))
  await mkdir(into, { recursive: true })
  const old = (await readdir(into)).filter((name) => name.startsWith('part-'))
  await Promise.all(old.map((name) => rm(join(into, name))))
  const order = elementOrder(layout)
  const each = Math.floor(order.length / servers) + 1
  for (let server = 0; server < servers; server++) {
    const from = Math.min(order.length, server * each)
    const to = server === servers - 1 ? order.length : Math.min(order.length, from + each)
    const name = `part-${String(server).padStart(3, '0')}${compress ? '.gz' : ''}`
    await writeFile(join(into, name), textOf(values, layout.floats, order.subarray(from, to), compress))
  }
  const parameters = paddleOrder(layout.entries).map(({ name, shape }) => ({ name, shape }))
  await writeFile(join(folder, NOTES), `${JSON.stringify({ steps, dense: parameters }, null, 1)}\n`)
}

/** Piece by piece: others of this process have their turn between two, and a piece is packed while the next one is written. */
async function* textOf(
  values: Float32Array,
  floats: number,
  order: Uint32Array,
  compress: boolean,
): AsyncGenerator<Uint8Array> {
  let packing: Promise<Uint8Array> | undefined
  // By turns: one is packed or written while the other is filled.
  const room = [0, 1].map(() => new Uint8Array(roomFor(Math.min(PIECE_ELEMENTS, order.length), values, floats)))
  for (let from = 0, piece = 0; from < order.length; from += PIECE_ELEMENTS, piece++) {
    const text = linesOf(values, floats, order.subarray(from, from + PIECE_ELEMENTS), room[piece % 2]!)
    const before = packing
    // Pieces of gzip one after the other are one gzip file.
    packing = compress ? packed(text, OF_DIGITS) : Promise.resolve(text)
    if (before !== undefined) yield await before
    else await new Promise(setImmediate)
  }
  yield await (packing ?? (compress ? packed(new Uint8Array(0)) : new Uint8Array(0)))
}

const PIECE_ELEMENTS = 1 << 15
/** Digits of floats do not repeat: looking for what came before takes three times as long, for an eighth of the bytes. */
const OF_DIGITS: ZlibOptions = { level: 1, strategy: constants.Z_RLE, chunkSize: 1 << 20 }
const packed = promisify(gzip) as (data: Uint8Array, options?: ZlibOptions) => Promise<Uint8Array>

/** Values of a dense block with `runs` of state. Files of Paddle give weights alone: their state counts other steps. */
export async function loadDenseText(
  { folder, number, layout }: DenseTextOptions,
  initial: Float32Array,
): Promise<DenseValues> {
  const into = join(folder, tableFolder(number))
  const names = (await readdir(into).catch((): string[] => [])).filter((name) => /^part-\d+(\.gz)?$/.test(name)).sort()
  if (names.length === 0) throw noTable(folder, number)
  const notes = await readNotes(folder)
  const runs = initial.length / Math.max(1, layout.floats)
  const values = initial.slice()
  const order = elementOrder(layout)
  const parser = new LineParser(16)
  let element = 0
  for (const name of names) {
    await readLines(join(into, name), (block, start, end) => {
      // A line has no sign: the parser is given one.
      const line = Buffer.concat([Buffer.from('0 '), block.subarray(start, end)])
      if (!parser.parse(line, 0, line.length) || parser.count === 0) return
      if (parser.count < 0) throw otherWeights(join(into, name), `line ${element + 1} is not numbers`)
      const at = order[element++]
      if (at === undefined) return
      values[at] = parser.values[0]!
      if (notes && parser.count === runs)
        for (let run = 1; run < runs; run++) values[run * layout.floats + at] = parser.values[run]!
    })
  }
  // State of the program (moving averages) is not among Paddle's weights.
  const parameters = layout.entries.reduce((sum, { kind, size }) => sum + (kind === 'parameter' ? size : 0), 0)
  if (element !== order.length && element !== parameters)
    throw otherWeights(into, `it has ${element} elements, the model has ${parameters}`)
  return { values, steps: notes?.steps ?? 0 }
}

/** Places in our layout, in the order of the file. */
function elementOrder({ entries, floats }: DenseLayout): Uint32Array {
  const order = new Uint32Array(floats)
  let next = 0
  for (const { at, size } of paddleOrder(entries)) for (let i = 0; i < size; i++) order[next++] = at + i
  return order.subarray(0, next)
}

const runsOf = (values: Float32Array, floats: number) => values.length / Math.max(1, floats)

const roomFor = (elements: number, values: Float32Array, floats: number) =>
  elements * runsOf(values, floats) * (FLOAT_BYTES + 1)

function linesOf(values: Float32Array, floats: number, order: Uint32Array, out: Uint8Array): Uint8Array {
  const runs = runsOf(values, floats)
  let at = 0
  for (const element of order) {
    for (let run = 0; run < runs; run++) {
      at = writeFloat(values[run * floats + element]!, out, at)
      out[at++] = run === runs - 1 ? 10 : 32
    }
  }
  return out.subarray(0, at)
}

async function readNotes(folder: string): Promise<{ readonly steps: number } | undefined> {
  const text = await readFile(join(folder, NOTES), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as { steps: number })
}
