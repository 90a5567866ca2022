/** @file Which part of the data a rank reads: chunks are dealt out, unless the reader divides its files itself or ranks have files of their own. */
import type { Group } from '../../collective/index.ts'
import type { JobConfig } from '../../config/index.ts'
import { measureFiles, openReader, type Part, rankAsked } from '../../data/index.ts'
import type { EventSink } from '../../event/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { inputKind, inputOf } from '../input.ts'
import type { Phase } from '../messages.ts'
import type { DataFiles } from '../runtime.ts'
import { firstDifference, reports } from '../worker-input.ts'
import { meet } from './meet.ts'

export interface RankInput {
  /** In the order of an epoch. @default the order of the job */
  readonly files?: readonly string[]
  readonly part?: Part
  readonly chunkBytes?: number
  /** The reader has asked for its rank: it gets all files and divides them itself. */
  readonly allFiles?: boolean
}

export interface RankInputOptions {
  readonly group: Group
  readonly config: JobConfig
  readonly model: TracedModel
  readonly files: DataFiles
  readonly emit: EventSink
}

/** By phase. Says which way it is. */
export async function agreeOnRanks(options: RankInputOptions): Promise<Readonly<Record<Phase, RankInput>>> {
  const { group, config, files, emit } = options
  const own = { train: await reports(files.train), infer: await reports(files.infer) }
  const asks = await readerAsks(options)
  const all = await meet(group, { files: own, asks })
  const ownSplit = all.some((one) => one.asks)
  const { rank: index, size: count } = group
  const inputFor = (phase: Phase): RankInput => {
    const list = files[phase] ?? []
    if (ownSplit && inputKind(inputOf(config, phase, list)) === 'user') return { allFiles: true }
    if (firstDifference(all.map((one) => one.files[phase]))) return {}
    return { part: { index, count }, chunkBytes: chunkBytes(list, count) }
  }
  const inputs = { train: inputFor('train'), infer: inputFor('infer') }
  const phase = firstPhase(files)
  emit({ kind: 'notice', message: said(inputs[phase], own[phase].length, group) })
  return inputs
}

function firstPhase({ train }: DataFiles): Phase {
  return train ? 'train' : 'infer'
}

const LEAST_BYTES = 4 * 1024
const MOST_BYTES = 1024 * 1024

/** Small enough that every rank gets about the same. */
function chunkBytes(files: readonly string[], ranks: number): number {
  const total = measureFiles(files).reduce((sum, { bytes }) => sum + bytes, 0)
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.ceil(total / (16 * ranks))))
}

/** Whether a reader of the user's asks for its rank before its first sample. */
async function readerAsks({ config, model, files }: RankInputOptions): Promise<boolean> {
  const phase = firstPhase(files)
  const list = files[phase] ?? []
  const input = inputOf(config, phase, list)
  if (inputKind(input) !== 'user' || list.length === 0) return false
  const { slots } = model
  const options = { ...input.reader, slots, threads: 1, files: list.slice(0, 1), batchSize: 1, epoch: 0 }
  for await (const _ of openReader(options)) break
  return rankAsked()
}

function said({ part, allFiles }: RankInput, files: number, { rank, size }: Group): string {
  if (allFiles) return `The reader asks for its rank: it is given all ${files} files and divides them itself.`
  if (part)
    return `All ${size} ranks have the same ${files} files: their chunks are dealt out, rank ${rank} reads its part.`
  return `The ranks have different files: each reads all of its own, rank ${rank} has ${files}.`
}
