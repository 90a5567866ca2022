/** @file A reader thread: takes chunks in order, parses them and sends parts, at most PARTS_AHEAD ahead of the consumer. */
import { parentPort, workerData } from 'node:worker_threads'
import { toPlainError } from '../util/index.ts'
import { dropZeros } from './drop-zeros.ts'
import { type FromThread, PARTS_AHEAD, type ThreadData, type ToThread } from './messages.ts'
import { packColumns } from './pack.ts'
import { killTree } from './pipe.ts'
import { createPipeSource } from './pipe-source.ts'
import { notedProcess } from './process-note.ts'
import { createTableSources, type TableSources } from './table-source.ts'
import { createTextSources, type Source } from './text-source.ts'
import { createUserSource } from './user-source.ts'

type ChunkJob = Extract<ToThread, { kind: 'chunk' }>

interface Running {
  readonly job: ChunkJob
  /** Parts sent and not yet consumed. */
  ahead: number
  cancelled: boolean
  wake: () => void
}

const settings = workerData as ThreadData
serve(parentPort!, settings, sourcesOf(settings))

type OpenSource = (job: ChunkJob) => Source

function sourcesOf(settings: ThreadData): OpenSource {
  const { slots, onBadLine, userReader, pipe, columns } = settings
  if (userReader) {
    const user = createUserSource({ slots, userReader })
    return ({ chunk }) => user(chunk)
  }
  const text = createTextSources(slots, onBadLine, settings)
  const piped = pipe && createPipeSource(text, { ...settings, pipe })
  let tables: TableSources | undefined
  const table = async function* ({ chunk }: ChunkJob): Source {
    tables ??= createTableSources(slots, onBadLine, columns)
    yield* tables[chunk.kind === 'parquet' ? 'parquet' : 'csv'](chunk)
  }
  const open: Readonly<Record<ChunkJob['chunk']['kind'], OpenSource>> = {
    range: ({ chunk, format }) => text.range(chunk, format),
    gzip: ({ chunk, format }) => text.gzip(chunk, format),
    pipe: ({ chunk, format, read }) => piped!(chunk, format, read),
    csv: table,
    parquet: table,
    user: () => {
      throw new Error('internal: a user reader without its settings')
    },
  }
  return (job) => open[job.chunk.kind](job)
}

function serve(
  port: NonNullable<typeof parentPort>,
  { slots, dropZeros: without }: ThreadData,
  open: OpenSource,
): void {
  const shape = {
    sparseSlots: slots.filter((slot) => slot.kind === 'sparse').length,
    widths: slots.flatMap((slot) => (slot.kind === 'dense' ? [slot.width] : [])),
  }

  const jobs: ChunkJob[] = []
  const buffers: SharedArrayBuffer[] = []
  let running: Running | undefined

  const next = () => {
    const job = running ? undefined : jobs.shift()
    if (!job) return
    const mine = { job, ahead: 0, cancelled: false, wake: () => {} }
    running = mine
    // setImmediate: messages that came meanwhile (a cancel, a buffer) are seen before the chunk starts.
    setImmediate(() => {
      void run(mine).finally(() => {
        running = undefined
        next()
      })
    })
  }
  const run = async (mine: Running) => {
    const { read, chunk } = mine.job
    try {
      for await (const { columns, ...part } of open(mine.job)) {
        if (mine.cancelled) return
        const kept = without ? dropZeros(columns, shape.sparseSlots) : columns
        const parsed = packColumns(kept, shape, buffers.pop())
        send({ kind: 'part', read, chunk: chunk.number, parsed, ...part })
        mine.ahead++
        while (mine.ahead >= PARTS_AHEAD && !mine.cancelled) {
          await new Promise<void>((resolve) => {
            mine.wake = resolve
          })
        }
      }
      send({ kind: 'end', read, chunk: chunk.number })
    } catch (error) {
      if (mine.cancelled) return
      send({ kind: 'end', read, chunk: chunk.number, error: toPlainError(error) })
    }
  }
  const send = (message: FromThread) => port.postMessage(message)

  port.on('message', (message: ToThread) => {
    if (message.kind !== 'cancel' && message.buffer) buffers.push(message.buffer)
    if (message.kind === 'chunk') {
      jobs.push(message)
      next()
    } else if (message.kind === 'cancel') {
      jobs.splice(0, jobs.length, ...jobs.filter((job) => job.read !== message.read))
      if (running?.job.read !== message.read) return
      running.cancelled = true
      // A source that waits for a process would not see the cancel: its end wakes it.
      killTree(notedProcess(settings.process))
      running.wake()
    } else if (running?.job.read === message.read && running.job.chunk.number === message.chunk) {
      running.ahead--
      running.wake()
    }
  })
}
