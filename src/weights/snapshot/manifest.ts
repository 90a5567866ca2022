/** @file manifest.json of a checkpoint: what is in it and where. docs/reference/checkpoint-format.md describes it for other readers. */
import { basename } from 'node:path'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { ROW_PRECISIONS } from '../../base/kernel/index.ts'
import { measureFiles } from '../../data/index.ts'
import type { LocalParamsHandle } from '../params/index.ts'
import type { AccessorConfig } from '../table/index.ts'

export const FORMAT = 'oarfish-checkpoint'
export const VERSION = 1
export const MANIFEST = 'manifest.json'

const whole = z.int().min(0)
/** JSON has no NaN and writes null for it. */
const number = z.number().nullable()
const optimizer = z.custom<LocalParamsHandle['dense']['optimizer']>(
  (value) => typeof (value as { kind?: unknown } | undefined)?.kind === 'string',
)

/** `checksum`: over the chunk's samples so far, where reading it again could give others. */
const position = z.object({ epoch: whole, batch: whole, chunk: whole, sample: whole, checksum: whole.exactOptional() })

const input = z.object({ files: whole, bytes: whole, crc32: z.string() })

/** Where a process of several was in its data. */
export const place = z.object({
  position,
  input,
  /** Its chunks, in its order: those it had taken, where workers take them one by one; all, where the job has changed its size inside the epoch. */
  claimed: z.array(z.object({ from: whole, to: whole })).exactOptional(),
  /** Of these, behind `position`: whose first samples another one has trained. */
  begun: z.array(z.object({ place: whole, sample: whole, checksum: whole.exactOptional() })).exactOptional(),
  /** Text per chunk, where it is not that of the number of processes. */
  chunkBytes: whole.exactOptional(),
})

/** Of this folder, or of a checkpoint beside it. */
const fileName = z.string().regex(/^(\.\.\/[\w-]+\/)?\w[\w.-]*$/)

const table = z.object({
  name: z.string(),
  dim: whole,
  /** Of the weights; optimizer state is float32. */
  dtype: z.enum(ROW_PRECISIONS),
  rows: whole,
  rowBytes: whole,
  states: whole,
  clocked: z.boolean(),
  optimizer,
  /** What the rows do besides holding weights; absent: nothing. */
  accessor: z.custom<AccessorConfig>((value) => typeof value === 'object').optional(),
  parts: z.array(z.object({ rows: whole, signs: z.string(), values: z.string() })),
})

const entry = z.object({
  name: z.string(),
  kind: z.enum(['parameter', 'state']),
  shape: z.array(whole),
  dtype: z.literal('float32'),
  at: whole,
})

const meter = z.object({
  samples: whole,
  batches: whole,
  seconds: z.number(),
  sums: z.record(z.string(), number),
  /** Names of the AUC histograms, in the order of the file. */
  histograms: z.array(z.string()),
  /** Behind these, in the same file: counts by group, so many numbers each. Absent in earlier checkpoints. */
  groups: z.array(z.object({ name: z.string(), length: whole })).optional(),
  file: z.string(),
})

const manifest = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  savedAt: z.string(),
  program: z.string(),
  seed: whole,
  steps: whole,
  /** Of the lock under which it was saved: larger than those of all owners of the folder before. Absent in earlier checkpoints. */
  fence: whole.exactOptional(),
  /** OARFISH_JOB_UID of the job that saved it, which goes on from it by itself. Absent where it has none. */
  job: z.string().exactOptional(),
  position,
  input: input.optional(),
  /** Where each rank of a collective job was, in which input; `position` is then the beginning of the epoch. */
  ranks: z.array(place).exactOptional(),
  /** The same of each worker of a job with servers. */
  workers: z.array(place).exactOptional(),
  /** Of a cut: what decides the next batch and step, by key of the config. */
  settings: z.record(z.string(), z.unknown()).exactOptional(),
  metrics: z.record(z.string(), number),
  meter: meter.optional(),
  dense: z.object({ file: z.string(), floats: whole, states: whole, optimizer, entries: z.array(entry) }),
  tables: z.array(table),
  files: z.record(fileName, z.object({ bytes: whole, crc32: z.string() })),
})

export type Manifest = z.infer<typeof manifest>
export type ManifestTable = z.infer<typeof table>
/** Where training goes on: the next epoch and batch, and where its first sample lies. */
export type Position = z.infer<typeof position>
export type FileMark = Manifest['files'][string]
/** The input's names and sizes: a position inside an epoch means nothing in other files. */
export type InputMark = z.infer<typeof input>
/** What a process has written of a table, as it tells it to the one that writes the manifest. */
export const savedPart = z.object({
  table: whole,
  part: table.shape.parts.element,
  files: z.record(fileName, z.object({ bytes: whole, crc32: z.string() })),
  rows: whole,
  workSeconds: z.number().optional(),
})

export type RankPlace = NonNullable<Manifest['ranks']>[number]
export type WorkerPlace = NonNullable<Manifest['workers']>[number]

export function manifestText(content: Manifest): string {
  return `${JSON.stringify({ ...content, crc32: checksum(content) }, null, 2)}\n`
}

export type ParsedManifest =
  | { readonly kind: 'whole'; readonly manifest: Manifest }
  /** Not of this format or of another version; altered or cut off. */
  | { readonly kind: 'foreign' | 'damaged'; readonly reason: string }

export function parseManifest(text: string): ParsedManifest {
  const json = parseJson(text)
  if (json === undefined) return { kind: 'damaged', reason: 'it is not JSON, so it was cut off or altered' }
  const { crc32: written, ...content } = json
  if (content['format'] !== FORMAT) return { kind: 'foreign', reason: `its format is not "${FORMAT}"` }
  if (content['version'] !== VERSION) {
    const reason = `it has format version ${String(content['version'])}; this build reads version ${VERSION}`
    return { kind: 'foreign', reason }
  }
  if (written !== checksum(content)) return { kind: 'damaged', reason: 'its checksum does not match its content' }
  const parsed = manifest.safeParse(content)
  if (parsed.success) return { kind: 'whole', manifest: parsed.data }
  const [issue] = parsed.error.issues
  return { kind: 'damaged', reason: `${issue?.path.join('.')}: ${issue?.message}` }
}

export const hexOf = (checksum: number): string => checksum.toString(16).padStart(8, '0')

/** Marks the input, to notice that it changed under a checkpoint saved inside an epoch: names and sizes in order; where the folder lies does not matter. */
export function markInput(files: readonly string[]): InputMark {
  const measured = measureFiles(files)
  const names = measured.map(({ path, bytes }) => `${basename(path)}\t${bytes}\n`).join('')
  return {
    files: files.length,
    bytes: measured.reduce((sum, { bytes }) => sum + bytes, 0),
    crc32: hexOf(crc32(names)),
  }
}

/** Over the compact text of everything but the checksum; JSON keeps the order of keys. */
function checksum(content: object): string {
  return hexOf(crc32(JSON.stringify(content)))
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
