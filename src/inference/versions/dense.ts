/** @file Dense weights published between two versions, without rows and without a checkpoint: a folder for each, and current.json, which names the newest. */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { createFile, makeFolder, removeLeftovers, replaceFile, writeFolder } from '../../base/fs/index.ts'
import { hexOf } from '../export/index.ts'
import { damagedDelta } from './errors.ts'

export const DENSE_FOLDER = 'dense'
export const CURRENT_FILE = 'current.json'
const MODEL = 'model.onnx'

const whole = z.int().min(0)
const current = z.object({
  format: z.literal('oarfish-dense'),
  version: z.literal(1),
  /** One more with each. */
  number: z.int().min(1),
  /** Id of the version whose rows they go with. */
  over: z.string(),
  day: z.string(),
  pass: whole,
  /** Optimizer steps so far. */
  steps: whole,
  /** Of the graph with its weights, relative to the folder of the file. */
  path: z.string().regex(/^\d+\/model\.onnx$/),
  bytes: whole,
  crc32: z.string(),
  publishedAt: z.string(),
})

/** What current.json says. */
export type DenseWeights = Readonly<z.infer<typeof current>>

export function parseDense(text: string, file: string): DenseWeights {
  const parsed = current.safeParse(jsonOf(text))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw damagedDelta(file, `${issue?.path.join('.')}: ${issue?.message}`)
}

/** The graph with its weights, compared with what current.json says of it. */
export function checkedModel({ bytes, crc32: expected }: DenseWeights, model: Uint8Array, file: string): Uint8Array {
  if (model.length === bytes && hexOf(crc32(model)) === expected) return model
  throw damagedDelta(file, 'its checksum does not match: it was altered or cut off')
}

/** The newest of a folder of this machine; undefined: none was published. */
export async function readDense(root: string): Promise<DenseWeights | undefined> {
  const file = join(root, DENSE_FOLDER, CURRENT_FILE)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  return text === undefined ? undefined : parseDense(text, file)
}

export type WriteDenseOptions = Pick<DenseWeights, 'number' | 'over' | 'day' | 'pass' | 'steps'> & {
  readonly model: Uint8Array
}

/** The folder first, then the file that names it. The one before stays, for who reads it just now. */
export async function writeDense(root: string, { model, ...of }: WriteDenseOptions): Promise<DenseWeights> {
  const folder = join(root, DENSE_FOLDER)
  await makeFolder(folder)
  await removeLeftovers(folder)
  await writeFolder(join(folder, String(of.number)), async (aside) => {
    const file = await createFile(join(aside, MODEL))
    await file.write(model).finally(file.close)
  })
  const written: DenseWeights = {
    ...{ format: 'oarfish-dense', version: 1, ...of, path: `${of.number}/${MODEL}` },
    ...{ bytes: model.length, crc32: hexOf(crc32(model)), publishedAt: new Date().toISOString() },
  }
  await replaceFile(join(folder, CURRENT_FILE), `${JSON.stringify(written, null, 2)}\n`)
  const old = (await readdir(folder)).filter((name) => /^\d+$/.test(name) && Number(name) < of.number - 1)
  for (const name of old) await rm(join(folder, name), { recursive: true, force: true })
  return written
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
