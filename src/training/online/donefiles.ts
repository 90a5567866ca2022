/** @file donefile.txt, base_donefile.txt and patch_donefile.txt as PaddleRec writes them: a line for each model that is whole. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../base/fs/index.ts'
import { isDay, UserError } from '../../base/util/index.ts'

export const DONEFILE = 'donefile.txt'
export const BASE_DONEFILE = 'base_donefile.txt'
export const PATCH_DONEFILE = 'patch_donefile.txt'

/** Of the model of a whole day's end, which is that of the day after: its own passes are all to come. */
export const BATCH_PASS = -1

/** A checkpoint that training may go on from. */
export interface DoneModel {
  readonly day: string
  /** BATCH_PASS: that of the end of the day before. */
  readonly pass: number
  /** Unix seconds of the base that its deltas follow. */
  readonly key: string
  readonly path: string
}

/** A base or a delta for inference. */
export interface DonePublished {
  readonly day: string
  /** Undefined: a base. */
  readonly pass?: number | undefined
  readonly key: string
}

/** The last line of donefile.txt; undefined: nothing was saved yet. */
export async function lastModel(folder: string): Promise<DoneModel | undefined> {
  const file = join(folder, DONEFILE)
  const lines = await linesOf(file)
  const last = lines.at(-1)
  return last === undefined ? undefined : parseModel(last, file, lines.length)
}

function parseModel(line: string, file: string, number: number): DoneModel {
  const [day = '', key = '', path = '', pass = ''] = line.split('\t')
  if (isDay(day) && path !== '' && /^-?\d+$/.test(pass)) return { day, key, path, pass: Number(pass) }
  throw damaged(file, number, 'a line is DAY, KEY, PATH, PASS and 0 with tabs between')
}

/** Appends a line, unless that pass of that day is there already. Returns whether it did. */
export async function addModel(folder: string, { day, pass, key, path }: DoneModel): Promise<boolean> {
  const file = join(folder, DONEFILE)
  const lines = await linesOf(file)
  const known = lines.some((line, i) => {
    const model = parseModel(line, file, i + 1)
    return model.day === day && model.pass === pass
  })
  if (!known) await append(file, lines, [day, key, path, pass, 0].join('\t'))
  return !known
}

/** The last of base_donefile.txt or patch_donefile.txt. */
export async function lastPublished(folder: string, name: string): Promise<DonePublished | undefined> {
  const file = join(folder, name)
  const lines = await linesOf(file)
  const last = lines.at(-1)
  if (last === undefined) return undefined
  const { input, key } = parsedJson(last) ?? {}
  const [day = '', what = ''] = String(input ?? '')
    .split('/')
    .slice(-3)
  const pass = /^delta-(\d+)$/.exec(what)?.[1]
  if (!isDay(day) || typeof key !== 'string' || (what !== 'base' && pass === undefined))
    throw damaged(file, lines.length, 'a line is JSON with id, key, input and monitor_data')
  return { day, key, pass: pass === undefined ? undefined : Number(pass) }
}

/** Appends a line, unless the last one is of this pass or a later one. Returns whether it did. */
export async function addPublished(
  folder: string,
  { day, pass, key }: DonePublished,
  line: { readonly id: string; readonly input: string; readonly monitor: string },
): Promise<boolean> {
  const name = pass === undefined ? BASE_DONEFILE : PATCH_DONEFILE
  const last = await lastPublished(folder, name)
  if (last && (day < last.day || (day === last.day && (pass ?? 0) <= (last.pass ?? 0)))) return false
  const { id, input, monitor } = line
  const fields = Object.entries({ id, key, input, monitor_data: monitor })
  // As Python's json.dumps puts blanks.
  const text = `{${fields.map(([name, value]) => `"${name}": ${JSON.stringify(value)}`).join(', ')}}`
  const file = join(folder, name)
  await append(file, await linesOf(file), text)
  return true
}

async function append(file: string, lines: readonly string[], line: string): Promise<void> {
  await replaceFile(file, `${[...lines, line].join('\n')}\n`)
}

async function linesOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return text.split('\n').filter((line) => line !== '')
}

function parsedJson(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function damaged(file: string, line: number, form: string): UserError {
  return new UserError(`this line cannot be read: ${form}`, {
    code: 'ONLINE_DONEFILE',
    where: { file, line },
    hint: 'take the line out, or name another folder with runner.model_save_path: training goes on from the last line',
  })
}
