/** @file A rank's part of the data: which it is (chunks are dealt out, unless the reader divides its files itself or ranks have files of their own), and a pass over it. */

import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { anyFiles, contentOf } from '../../base/fs/index.ts'
import { type Exchange, type InputKind, measureFiles, openReader, rankAsked } from '../../data/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { allGatherJson, type Group } from '../collective/index.ts'
import {
  type DataFiles,
  inputKind,
  inputOf,
  type PassInput,
  type PassOptions,
  type PassResult,
  type PassStart,
  type Phase,
  type Runtime,
} from '../threads/index.ts'
import { readRankFiles, readReport } from './gathered.ts'
import { checkSplit, type PassRecord, sumReports } from './pass-report.ts'
import { fileReports, firstDifference } from './worker-input.ts'

/** By phase. `allFiles`: the reader has asked for its rank, gets all files and divides them itself. */
export type RankInputs = Readonly<Record<Phase, Pick<PassInput, 'part' | 'chunkBytes' | 'allFiles'>>>

export interface RankInputOptions {
  readonly group: Group
  readonly config: JobConfig
  readonly model: TracedModel
  readonly files: DataFiles
  readonly emit: EventSink
}

/** Ranks compare their files; says what came of it. */
export async function agreeOnRanks(options: RankInputOptions): Promise<RankInputs> {
  const { group, config, files, emit } = options
  const own = { train: await fileReports(files.train), infer: await fileReports(files.infer) }
  const asks = await readerAsks(options)
  const all = await allGatherJson(group, { files: own, asks }, readRankFiles)
  const ownSplit = all.some((one) => one.asks)
  const { rank: index, size: count } = group
  const inputFor = (phase: Phase): RankInputs[Phase] => {
    const list = files[phase] ?? []
    if (ownSplit && isUsers(inputKind(inputOf(config, phase, list)))) return { allFiles: true }
    if (firstDifference(all.map((one) => one.files[phase]))) return {}
    return { part: { index, count }, chunkBytes: chunkBytesOf(list, count) }
  }
  const inputs = { train: inputFor('train'), infer: inputFor('infer') }
  const phase = firstPhase(files)
  emit({ kind: 'notice', message: splitText(inputs[phase], own[phase].length, group) })
  return inputs
}

function firstPhase({ train }: DataFiles): Phase {
  return train ? 'train' : 'infer'
}

const LEAST_BYTES = 4 * 1024
const MOST_BYTES = 1024 * 1024

/** Small enough that every rank gets about the same. */
export function chunkBytesOf(files: readonly string[], ranks: number): number {
  const total = measureFiles(files).reduce((sum, { bytes }) => sum + bytes, 0)
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.ceil(total / (16 * ranks))))
}

/** Whether a reader of the user's asks for its rank before its first sample. */
async function readerAsks({ config, model, files }: RankInputOptions): Promise<boolean> {
  const phase = firstPhase(files)
  const list = files[phase] ?? []
  const input = inputOf(config, phase, list)
  if (!isUsers(inputKind(input)) || list.length === 0) return false
  const { slots } = model
  // PaddleRec's readers refuse fewer files than ranks: those in Python are shown all of them, as the pass will do.
  const shown = input.reader.python ? { files: list, allFiles: true } : { files: list.slice(0, 1) }
  const options = { ...input.reader, ...shown, slots, threads: 1, batchSize: 1, epoch: 0 }
  try {
    for await (const _ of openReader(options)) break
  } catch (error) {
    // What is wrong with a reader that divides its files comes up in the pass that reads them.
    if (!rankAsked()) throw error
  }
  return rankAsked()
}

const isUsers = (kind: InputKind) => kind === 'user' || kind === 'python'

function splitText({ part, allFiles }: RankInputs[Phase], files: number, { rank, size }: Group): string {
  if (allFiles) return `The reader asks for its rank: it is given all ${files} files and divides them itself.`
  if (part)
    return `All ${size} ranks have the same ${files} files: their chunks are dealt out, rank ${rank} reads its part.`
  return `The ranks have different files: each reads all of its own, rank ${rank} has ${files}.`
}

export interface RankPass {
  readonly group: Group
  readonly runtime: Runtime
  readonly input: PassInput & { readonly files: readonly string[] }
  /** Aborted also because another rank was stopped. */
  readonly stop: AbortController
  readonly emit: EventSink
  readonly pauses?: PassOptions['pauses']
  /** Of all parts of the pass. */
  readonly record: PassRecord
}

/** One phase of one epoch, from its beginning or from where this rank was when all were stopped. Steps are made together. */
export async function rankPass(options: RankPass, phase: Phase, epoch: number, from?: PassStart): Promise<PassResult> {
  const { group, runtime, input, stop, emit, pauses, record } = options
  const { isWhole } = record
  const result = await runtime.pass(phase, epoch, {
    from,
    pauses,
    input: { ...input, onChunk: input.part && record.onChunk },
    hooks: {
      inStep: phase === 'train',
      onReport: ({ stopping }) => stopping && stop.abort(),
      sumUp: async (own, paused) => {
        const reports = await allGatherJson(group, record.report(own, stop.signal.aborted, paused), readReport)
        const sum = sumReports(reports)
        if (!sum.interrupted && !sum.paused && isWhole && input.part) checkSplit(`epoch ${epoch}, ${phase}`, reports)
        return sum
      },
    },
  })
  if (!result.interrupted && !result.paused && phase === 'train' && group.rank === 0) {
    const counts = input.allFiles ? await countLines(input.files) : undefined
    const { samples } = result.meter
    emit(comparison(epoch, samples, group.size, isWhole ? record.read.of : 0, counts))
  }
  return result
}

/** Parcels of samples go by all-to-all, round after round, until no rank has any left. The calls must be the same on every rank. */
export function groupExchange(group: Group): Exchange {
  const { rank, size: workers } = group
  async function* swap(_: string, rounds: Iterable<readonly Uint8Array[]>): AsyncGenerator<readonly Uint8Array[]> {
    const mine = rounds[Symbol.iterator]()
    for (;;) {
      const { value, done } = mine.next()
      const more = Uint8Array.of(done ? 0 : 1)
      await group.allReduce(more, 'max')
      if (more[0] === 0) return
      const parcels: readonly Uint8Array[] = done ? Array.from({ length: workers }, () => new Uint8Array(0)) : value
      const lengths = parcels.map(({ byteLength }) => byteLength)
      const { values, counts } = await group.allToAll(new Uint8Array(Buffer.concat(parcels)), lengths)
      let at = 0
      yield counts.map((count) => {
        at += count
        // The group's memory holds until its next call.
        return values.slice(at - count, at)
      })
    }
  }
  return { rank, workers, swap }
}

/** Samples of all ranks against what the files have. */
function comparison(epoch: number, samples: number, ranks: number, chunks: number, lines: number | undefined) {
  const all = `epoch ${epoch}: ${ranks} ranks have read ${samples} samples`
  if (lines === undefined) {
    const message = chunks > 0 ? `${all}, each of the files' ${chunks} chunks once.` : `${all}.`
    return { kind: 'notice', message } as const
  }
  if (samples === lines) return { kind: 'notice', message: `${all}, as many as the files have lines.` } as const
  const message = `${all}, but the files have ${lines} lines: look at how the reader divides them by getRank() and getWorldSize().`
  return { kind: 'warning', message } as const
}

async function countLines(files: readonly string[]): Promise<number> {
  let lines = 0
  for (const file of files) {
    let last = 10
    for await (const bytes of contentOf(anyFiles, file)) {
      for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10 && (i > 0 ? bytes[i - 1] : last) !== 10) lines++
      last = bytes.at(-1) ?? last
    }
    if (last !== 10) lines++
  }
  return lines
}
