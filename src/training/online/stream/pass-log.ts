/** @file stream.jsonl: which part of a stream each pass trains. A line is written before its pass trains, so that a job that was killed trains the same again. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../../base/fs/index.ts'
import { UserError } from '../../../base/util/index.ts'
import { behind, type Positions } from './source.ts'

export const STREAM_FILE = 'stream.jsonl'

const place = z.int().min(0)
/** The first line: what all passes before those of the file have taken. */
const header = z.object({ stream: z.string(), before: z.record(z.string(), place) })
const line = z.object({
  /** Of all passes of the stream, from 0. */
  epoch: place,
  day: z.string().regex(/^\d{8}$/),
  pass: z.int().min(1),
  /** Of its day: a base and a batch model follow. */
  isLast: z.boolean(),
  records: place,
  parts: z.record(z.string(), z.tuple([place, place])),
})
export type StreamPass = Readonly<z.infer<typeof line>>

export interface PassLog {
  /** The address or the folders. */
  readonly stream: string
  readonly before: Positions
  readonly passes: readonly StreamPass[]
}

/** Passes that the file has at most, beside those that may have to be trained again. */
export const MOST_PASSES = 1000

/** Undefined: nothing was trained yet. */
export async function readPasses(root: string): Promise<PassLog | undefined> {
  const file = join(root, STREAM_FILE)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [first, ...lines] = text.split('\n').filter((one) => one !== '')
  if (first === undefined) return undefined
  const passes = lines.map((one, i) => parsed(line, one, file, i + 2))
  const wrong = passes.findIndex(({ epoch }, i) => epoch !== passes[0]!.epoch + i)
  if (wrong >= 0) throw damaged(file, wrong + 2, 'its number does not follow that of the line before')
  return { ...parsed(header, first, file, 1), passes }
}

export async function writePasses(root: string, log: PassLog): Promise<void> {
  const { stream, before, passes } = log
  const lines = [{ stream, before }, ...passes].map((one) => `${JSON.stringify(one)}\n`)
  await replaceFile(join(root, STREAM_FILE), lines.join(''))
}

/** With one pass more; the oldest go into what the others begin behind. */
export function withPass({ stream, before, passes }: PassLog, pass: StreamPass, most = MOST_PASSES): PassLog {
  const all = [...passes, pass]
  const old = all.slice(0, Math.max(0, all.length - most))
  return { stream, before: old.reduce((from, { parts }) => behind(from, parts), before), passes: all.slice(old.length) }
}

/** Behind an epoch; all of them where it is not named. */
export function positionsAfter({ before, passes }: PassLog, epoch = Number.POSITIVE_INFINITY): Positions {
  return passes.filter((pass) => pass.epoch <= epoch).reduce((from, { parts }) => behind(from, parts), before)
}

function parsed<T>(schema: z.ZodType<T>, text: string, file: string, number: number): T {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw damaged(file, number, (error as Error).message.replaceAll(/\s+/g, ' ').slice(0, 200))
  }
}

const damaged = (file: string, number: number, what: string) =>
  new UserError(`this line cannot be read: ${what}`, {
    code: 'STREAM_POSITIONS',
    where: { file, line: number },
    hint: 'restore the file: it says which records the model has seen; or begin anew in another runner.model_save_path',
  })
