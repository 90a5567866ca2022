/** @file A Python reader as a source: one process for each reader thread, started at its first chunk and kept. */
import type { Columns, ParsedChunk, Slot } from '../batch.ts'
import { createChecksum } from '../memory/checksum.ts'
import type { ReaderThreadData } from '../messages.ts'
import type { Chunk } from '../plan.ts'
import type { Source, SourcePart } from '../text/text-source.ts'
import { noteAsked, rankNoted } from '../user/ranks.ts'
import { type Area, createArea } from './area.ts'
import { BadField } from './bad-field.ts'
import { columnsOf, type SamplesFrame } from './frame-columns.ts'
import type { Frame, SamplesHeader } from './frames.ts'
import { type ReaderPlace, readerEnded, readerRaised, sampleRefused } from './python-errors.ts'
import { type PythonProcess, type PythonReaderOptions, startPython } from './python-process.ts'

type PythonSettings = Pick<ReaderThreadData, 'process' | 'fifos' | 'slots'> & { readonly python: PythonReaderOptions }

export interface PythonChunk {
  readonly chunk: Chunk
  readonly read: number
  readonly seed: number
}

/** Samples between two places where what was read can be compared; as the frames are cut. */
const BLOCK = 512

export function createPythonSource(settings: PythonSettings): (job: PythonChunk) => Source {
  const { python, slots } = settings
  const areas = [createArea(), createArea()]
  let kept: PythonProcess | undefined
  return async function* ({ chunk, read, seed }) {
    const { file, files = [file], to } = chunk
    const place = { path: python.path, file, files: files.length }
    let whole = false
    try {
      let first: Frame | undefined
      if (kept) {
        await kept.start({ files, seed })
        first = await kept.next(read)
      }
      // One that was killed with the read before, as it came to rest, is dead by now.
      if (!first) {
        kept?.close()
        kept = await loaded(settings, read, place, (started) => {
          kept = started
        })
        await kept.start({ files, seed })
        first = await kept.next(read)
      }
      yield* samplesOf(kept!, first, { slots, read, place, bytes: to, areas })
      whole = true
    } finally {
      kept?.rest()
      // What is left of a chunk that was not read to its end would come before the next one.
      if (!whole) {
        kept?.close()
        kept = undefined
      }
    }
  }
}

/** A process that has loaded the reader; `onStart` is called with it before it has. */
async function loaded(
  { python, process: note, fifos, slots }: PythonSettings,
  read: number,
  place: ReaderPlace,
  onStart: (started: PythonProcess) => void,
): Promise<PythonProcess> {
  const started = startPython(python, { note, fifos, slots: slots.map(({ name }) => name), ...rankNoted() })
  onStart(started)
  const frame = await started.next(read)
  if (frame?.header.kind === 'ready') return started
  throw await failure(started, frame, place)
}

interface Reading {
  readonly slots: readonly Slot[]
  readonly read: number
  readonly place: ReaderPlace
  /** Of the chunk. */
  readonly bytes: number
  /** Two: a part is held back while the next is made. */
  readonly areas: readonly Area[]
}

function takingTurns<T>(items: readonly T[]): () => T {
  let next = 0
  return () => items[next++ % items.length]!
}

async function* samplesOf(process: PythonProcess, first: Frame | undefined, reading: Reading): Source {
  const { slots, read, place, bytes, areas } = reading
  const checksum = createChecksum()
  const turn = takingTurns(areas)
  let [samples, before] = [0, 0]
  // Its bytes are known when it is seen to be the last.
  let held: SourcePart | undefined
  const failed = async function* (error: Error): Source {
    if (held) yield held
    throw error
  }
  for (let frame = first; ; frame = await process.next(read)) {
    if (frame?.header.kind !== 'samples') {
      if (frame?.header.kind === 'end') break
      yield* failed(await failure(process, frame, place))
    } else {
      noteAsked(frame.header.asked)
      const { columns, bad } = fitting(slots, frame as SamplesFrame, turn())
      if (held) yield held
      if (samples % BLOCK === 0) before = checksum.value
      checksum.add(columns as ParsedChunk, 0, columns.samples)
      held = columns.samples > 0 ? partOf(columns, frame.header, before) : undefined
      samples += columns.samples
      if (bad) yield* failed(sampleRefused(place, samples + 1, bad.message))
    }
  }
  if (held) yield { ...held, bytes }
}

const partOf = (columns: Columns, { ignored }: SamplesHeader, checksum: number): SourcePart => ({
  columns,
  // How much of its files a reader has read is not known before its end.
  bytes: 0,
  skipped: 0,
  ignored,
  checksum,
})

/** The samples before the first that does not fit the slots. */
function fitting(slots: readonly Slot[], frame: SamplesFrame, area: Area): { columns: Columns; bad?: BadField } {
  let { samples } = frame.header
  let bad: BadField | undefined
  for (;;) {
    try {
      area.clear()
      const columns = columnsOf(slots, frame, samples, area)
      return bad ? { columns, bad } : { columns }
    } catch (error) {
      if (!(error instanceof BadField)) throw error
      bad = error
      samples = error.sample
    }
  }
}

async function failure(process: PythonProcess, frame: Frame | undefined, place: ReaderPlace): Promise<Error> {
  if (frame?.header.kind === 'failed') {
    noteAsked(frame.header.asked)
    const { refused, sample } = frame.header
    return refused ? sampleRefused(place, sample, refused) : readerRaised(place, frame.header)
  }
  return readerEnded(place, await process.ended())
}
