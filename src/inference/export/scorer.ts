/** @file Scores samples with an export in memory: one thread's session and its view of the tables. */
import type { Device } from '../../base/device/index.ts'
import { type Columns, sliceColumns } from '../../data/index.ts'
import { type ModelSession, openModel, type TensorView } from '../../graph/engine/index.ts'
import { type GatherOptions, gatherInputs } from './gather.ts'
import type { ExportManifest } from './manifest.ts'
import type { LoadedExport } from './open.ts'
import { FileRows } from './rows.ts'

/** Outputs of some samples; `scores` is the manifest's one number a sample. */
export interface Scored {
  readonly samples: number
  readonly scores: Float32Array
  /** By name, [samples, ...]. */
  readonly outputs: Readonly<Record<string, TensorView>>
}

/** Samples of one run of the graph: more gain no speed and take more memory. */
const RUN_SAMPLES = 1024

export class Scorer {
  readonly manifest: ExportManifest
  readonly #session: ModelSession
  readonly #gather: GatherOptions

  private constructor(manifest: ExportManifest, session: ModelSession, gather: GatherOptions) {
    this.manifest = manifest
    this.#session = session
    this.#gather = gather
  }

  /** @param device @default the CPU */
  static async open({ manifest, model, tables }: LoadedExport, device?: Device): Promise<Scorer> {
    const sources = manifest.tables.map(
      (table, i) => [table.name, new FileRows(tables[i]!, table, manifest.seed)] as const,
    )
    const { slots, inputs } = manifest
    return new Scorer(manifest, await openModel(model, { device }), {
      slots,
      inputs,
      tables: Object.fromEntries(sources),
    })
  }

  /** Blocks this thread while the graph runs. */
  async score(columns: Columns): Promise<Scored> {
    if (columns.samples === 0) return { samples: 0, scores: new Float32Array(), outputs: {} }
    if (columns.samples <= RUN_SAMPLES) return this.#run(columns)
    const parts: Scored[] = []
    for (let from = 0; from < columns.samples; from += RUN_SAMPLES) {
      const to = Math.min(columns.samples, from + RUN_SAMPLES)
      parts.push(await this.#run(sliceColumns(this.manifest.slots, columns, from, to)))
    }
    return joinScored(parts)
  }

  close(): Promise<void> {
    return this.#session.close()
  }

  async #run(columns: Columns): Promise<Scored> {
    const outputs = await this.#session.run(gatherInputs(this.#gather, columns))
    return { samples: columns.samples, scores: scoresOf(this.manifest, outputs, columns.samples), outputs }
  }
}

/** The column that the manifest names. */
export function scoresOf(
  { score }: Pick<ExportManifest, 'score'>,
  outputs: Readonly<Record<string, TensorView>>,
  samples: number,
): Float32Array {
  const { data } = outputs[score.output]!
  const columns = data.length / samples
  return Float32Array.from({ length: samples }, (_, i) => Number(data[i * columns + score.column]!))
}

/** Samples [from, to) as rows of plain numbers, by output: what people and JSON see. */
export function outputRows({ outputs, samples }: Scored, from: number, to: number): Record<string, unknown[]> {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { data, dims }]) => {
      const width = data.length / samples
      const row = (i: number) => nested(data.subarray(i * width, (i + 1) * width), dims.slice(1))
      return [name, Array.from({ length: to - from }, (_, i) => row(from + i))]
    }),
  )
}

function nested(values: TensorView['data'], dims: readonly number[]): unknown {
  if (dims.length === 0) return plain(values[0]!)
  if (dims.length === 1) return Array.from(values, plain)
  const size = values.length / dims[0]!
  return Array.from({ length: dims[0]! }, (_, i) => nested(values.subarray(i * size, (i + 1) * size), dims.slice(1)))
}

function plain(value: number | bigint): number | string {
  return typeof value === 'bigint' ? String(value) : shortNumber(value)
}

/** Nine digits are enough to distinguish every float32. */
export function shortNumber(value: number): number {
  return Number(value.toPrecision(9))
}

function joinScored(parts: readonly Scored[]): Scored {
  const samples = parts.reduce((sum, part) => sum + part.samples, 0)
  const [first] = parts
  const outputs = Object.entries(first!.outputs).map(([name, { data, dims }]) => {
    const Data = data.constructor as new (length: number) => Float32Array
    const joined = new Data((data.length / first!.samples) * samples)
    let at = 0
    for (const part of parts) {
      joined.set(part.outputs[name]!.data as Float32Array, at)
      at += part.outputs[name]!.data.length
    }
    return [name, { data: joined, dims: [samples, ...dims.slice(1)] }] as const
  })
  const scores = new Float32Array(samples)
  let at = 0
  for (const part of parts) {
    scores.set(part.scores, at)
    at += part.samples
  }
  return { samples, scores, outputs: Object.fromEntries(outputs) }
}
