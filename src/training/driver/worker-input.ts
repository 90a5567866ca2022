/** @file Which part of the data a worker reads: workers compare their files and deal them out, or each reads its own. */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { JobConfig } from '../../base/config/index.ts'
import type { Cluster } from '../../base/env/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { anyFiles, contentOf } from '../../base/fs/index.ts'
import { countPieces, measureFiles, type Part } from '../../data/index.ts'
import { filesDiffer, type ServerGroup } from '../ps/index.ts'
import { type DataFiles, inputKind, inputOf, type Phase } from '../threads/index.ts'
import { readFileReports } from './gathered.ts'

/** What two files differ in: name, size and the beginning. */
export interface FileReport {
  readonly name: string
  readonly bytes: number
  readonly head: string
}

export interface InputOptions {
  readonly servers: ServerGroup
  readonly cluster: Cluster
  readonly config: JobConfig
  readonly files: DataFiles
  readonly emit: EventSink
}

/** This worker's part of each phase's data; undefined: all of its own files. */
export interface AgreedInput extends Readonly<Record<Phase, Part | undefined>> {
  /** The number of examples to train is known, and was said. */
  readonly isCounted: boolean
}

/** Workers compare their files; says what came of it. */
export async function agreeOnInput({ servers, cluster, config, files, emit }: InputOptions): Promise<AgreedInput> {
  const own = { train: await fileReports(files.train), infer: await fileReports(files.infer) }
  const all = await servers.allGatherJson('comparing data files', own, { read: readFileReports })
  const { rank: index, workerNum: count } = cluster
  const partOf = (phase: Phase): Part | undefined => {
    if (count === 1) return undefined
    const difference = firstDifference(all.map((lists) => lists[phase]))
    if (!difference) return { index, count }
    if (config.runner.split_file_list && phase === 'train') throw filesDiffer(0, difference.worker, difference.file)
    return undefined
  }
  const parts = { train: partOf('train'), infer: partOf('infer') }
  // A job that evaluates saved models trains on nothing: what it evaluates is its data.
  const phase: Phase = files.train ? 'train' : 'infer'
  const list = files[phase] ?? []
  const input = inputOf(config, phase, list)
  if (parts[phase]) emit({ kind: 'notice', message: `Split file list for worker ${index}` })
  const names = own[phase].map(({ name }) => `'${name}'`).join(', ')
  emit({ kind: 'notice', message: `File list: [${names}]` })
  const isCounted = await noticeExamples(list, input.isText, emit)
  if (count > 1)
    emit({ kind: 'notice', message: splitText(parts[phase], list.length, index, count, config.runner.split_file_list) })
  const pieces = countPieces(measureFiles(list), inputKind(input))
  if (parts[phase] && index >= pieces) emit({ kind: 'notice', message: nothingFor(index, pieces) })
  return { ...parts, isCounted }
}

function nothingFor(index: number, pieces: number): string {
  return `worker[${index}] has nothing of its own to read: the data can be dealt out in ${pieces} pieces only. Cut it into more files, or start fewer workers.`
}

function splitText(part: Part | undefined, files: number, index: number, count: number, asked: boolean): string {
  const same = files === 1 ? 'the same file: it is dealt out' : `the same ${files} files: they are dealt out`
  const dealt = `All ${count} workers have ${same}, worker[${index}] reads its part.`
  if (part && !asked)
    return `${dealt} (With split_file_list: False PaddleRec would have every worker read all of ${files === 1 ? 'it' : 'them'}, each sample ${count} times.)`
  return part ? dealt : `The workers have different files: each reads all of its own, worker[${index}] has ${files}.`
}

/** The first worker whose files are not those of worker 0, and the first file that differs. */
export function firstDifference(
  lists: readonly (readonly FileReport[])[],
): { readonly worker: number; readonly file: string } | undefined {
  const [first = [], ...others] = lists
  for (const [i, list] of others.entries()) {
    const longest = first.length > list.length ? first : list
    const at = longest.findIndex((_, f) => JSON.stringify(first[f]) !== JSON.stringify(list[f]))
    if (at >= 0) return { worker: i + 1, file: longest[at]!.name }
  }
  return undefined
}

const HEAD_BYTES = 64 * 1024

/** Of each file. */
export const fileReports = async (files: readonly string[] = []) => await Promise.all(files.map(report))

async function report(path: string): Promise<FileReport> {
  const head = Buffer.alloc(HEAD_BYTES)
  const file = await anyFiles.open(path)
  try {
    const bytes = await file.read(head, 0)
    const hash = createHash('sha256').update(head.subarray(0, bytes)).digest('hex')
    return { name: basename(path), bytes: file.bytes, head: hash.slice(0, 16) }
  } finally {
    await file.close()
  }
}

/** More would be felt when a job starts. */
const MAX_BYTES = 64 * 1024 * 1024
const LINE_FEED = 10

/**
 * How many examples the files have, as static_ps_trainer says it: lines of plain text, one example each. Returns whether it was said. Of other data, and where counting would take
 * long, nothing is said before the first pass has read it.
 */
export async function noticeExamples(files: readonly string[], isText: boolean, emit: EventSink): Promise<boolean> {
  const bytes = measureFiles(files).reduce((sum, file) => sum + file.bytes, 0)
  if (!isText || bytes > MAX_BYTES || files.some((file) => file.endsWith('.gz'))) return false
  let total = 0
  for (const file of files) {
    const examples = await countLines(file)
    total += examples
    emit({ kind: 'notice', message: `File: ${file} has ${examples} examples` })
  }
  noticeTotal(total, emit)
  return true
}

export function noticeTotal(examples: number, emit: EventSink): void {
  emit({ kind: 'notice', message: `Total example: ${examples}` })
}

async function countLines(path: string): Promise<number> {
  let [lines, last] = [0, LINE_FEED]
  for await (const piece of contentOf(anyFiles, path)) {
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) lines++
    last = piece.at(-1) ?? last
  }
  // The last line may have no end.
  return last === LINE_FEED ? lines : lines + 1
}
