/** @file manifest.json of an export: everything a reader must know. docs/reference/export-format.md describes it for other languages. */
import { z } from 'zod'
import { notAnExport } from './errors.ts'

export const FORMAT = 'oarfish-export'
export const VERSION = 1
export const MANIFEST = 'manifest.json'

const whole = z.int().min(0)
const dim = z.union([whole, z.string()])
const dtype = z.enum(['float32', 'float64', 'int64', 'int32', 'bool'])

const field = { from: z.string() }
/** What a raw value becomes; docs/reference/export-format.md has the arithmetic. Exports of 0.1 have none. */
const feature = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hash'), ...field, buckets: whole }),
  z.object({ kind: z.literal('bucketise'), ...field, boundaries: z.array(z.number()).readonly() }),
  z.object({ kind: z.literal('vocabulary'), ...field, words: z.array(z.string()).readonly() }),
  z.object({ kind: z.literal('ids'), ...field, split: z.string() }),
  z.object({ kind: z.literal('cross'), of: z.array(z.string()).readonly(), buckets: whole }),
])
const logFeature = z.object({ kind: z.literal('log'), ...field })

/** An input of the text or of a request, in the order MultiSlot text has them. What the outputs do not use is not `needed`. */
const slot = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('sparse'), name: z.string(), needed: z.boolean(), feature: feature.optional() }),
  z.object({
    kind: z.literal('dense'),
    name: z.string(),
    width: whole,
    dtype: z.enum(['float32', 'int64']),
    needed: z.boolean(),
    feature: logFeature.optional(),
  }),
])

/** How the row of a sign that is not in the file begins; `seed` is an unsigned 64-bit number as text. */
const unseen = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('constant'), value: z.number() }),
  z.object({ kind: z.literal('uniform'), low: z.number(), high: z.number(), seed: z.string() }),
  z.object({ kind: z.literal('normal'), mean: z.number(), std: z.number(), seed: z.string() }),
  z.object({ kind: z.literal('truncated_normal'), mean: z.number(), std: z.number(), seed: z.string() }),
])

const table = z.object({ name: z.string(), file: z.string(), dim: whole, rows: whole, unseen })

const tensor = { name: z.string(), dtype, shape: z.array(dim) }

/** An input of the graph and where it comes from. */
const input = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('dense'), ...tensor, slot: z.string() }),
  z.object({
    kind: z.literal('rows'),
    ...tensor,
    table: z.string(),
    slots: z.array(z.string()),
    dim: whole,
    pooling: z.enum(['sum', 'mean', 'sqrtn', 'sequence']),
  }),
  /** Of the sequence `rows`: 1 for a sign, 0 for padding. */
  z.object({ kind: z.literal('mask'), ...tensor, rows: z.string() }),
])

const manifest = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  createdBy: z.string(),
  createdAt: z.string(),
  epoch: z.int(),
  steps: whole,
  /** The job's seed. */
  seed: whole,
  model: z.object({ file: z.string(), opset: whole }),
  slots: z.array(slot),
  tables: z.array(table),
  inputs: z.array(input),
  outputs: z.array(z.object(tensor)),
  /** The one number of a sample: this column of this output. */
  score: z.object({ output: z.string(), column: whole }),
  samples: z.string(),
  /** TypeScript's types of samples and outputs; exports of 0.1 have none. */
  types: z.string().optional(),
  /** One ONNX file with the tables inside. */
  folded: z
    .object({ file: z.string(), inputs: z.array(z.object({ ...tensor, slot: z.string(), what: z.string() })) })
    .optional(),
  files: z.record(z.string(), z.object({ bytes: whole, crc32: z.string() })),
})

/** manifest.json of an export: everything a reader must know (docs/reference/export-format.md). */
export type ExportManifest = z.infer<typeof manifest>
/** A slot of the samples that an export scores. */
export type ExportSlot = ExportManifest['slots'][number]
export type ExportTable = ExportManifest['tables'][number]
export type ExportInput = ExportManifest['inputs'][number]
export type FileMark = ExportManifest['files'][string]
export type FoldedInput = NonNullable<ExportManifest['folded']>['inputs'][number]

/** The manifest that `file` holds; throws where it is none. */
export function parseExportManifest(text: string, file: string): ExportManifest {
  const json = parseJson(text)
  if (json === undefined) throw notAnExport(file, 'it is not JSON, so it was cut off or altered')
  const { format, version } = json as { format?: unknown; version?: unknown }
  if (format !== FORMAT) throw notAnExport(file, `its format is ${JSON.stringify(format)}, not "${FORMAT}"`)
  if (version !== VERSION)
    throw notAnExport(file, `it has format version ${String(version)}; this build reads version ${VERSION}`)
  const parsed = manifest.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw notAnExport(file, `${issue?.path.join('.')}: ${issue?.message}`)
}

export const hexOf = (checksum: number): string => checksum.toString(16).padStart(8, '0')

function parseJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
