/** @file One phase of one epoch on all workers: they begin together, read each its part, and add up what they have measured. */
import type { Part } from '../data/index.ts'
import type { EventSink } from '../event/index.ts'
import { METHODS, type ServerGroup } from '../ps/index.ts'
import { tellTotal } from './count-examples.ts'
import type { PassResult } from './loop.ts'
import type { Phase } from './messages.ts'
import type { Runtime } from './runtime.ts'
import { mergeMeters, type PlainMeter, plainMeter } from './together.ts'
import type { StepReport } from './trainer-pool.ts'
import type { WorkerMode } from './worker-mode.ts'
import { type ChunksRead, checkSplit, claimChunks, takenOver } from './worker-split.ts'

export interface WorkerPass {
  readonly runtime: Runtime
  readonly servers: ServerGroup
  readonly strategy: WorkerMode
  /** This worker's part of the data; undefined: all of its own files. */
  readonly part: Part | undefined
  /** In the order of this epoch. @default the phase's own */
  readonly files?: readonly string[]
  /** Chunks of slower workers are taken over when this one has read its own. @default false */
  readonly takesOver?: boolean
  /** Says how many examples there were: of all workers where they share the data. @default false */
  readonly tellsTotal?: boolean
  readonly stopped: () => boolean
  /** Ends the pass here, because a worker in step with this one was told to stop. @default none is */
  readonly stop?: () => void
  readonly emit: EventSink
}

/** One phase of one epoch on all workers: they begin together and add up what they have measured. */
export async function workerPass(
  { runtime, servers, strategy, part, files, takesOver = false, tellsTotal = false, stopped, stop, emit }: WorkerPass,
  phase: Phase,
  epoch: number,
): Promise<PassResult> {
  const name = `epoch ${epoch}, ${phase}`
  const training = phase === 'train'
  await servers.requestAll(METHODS.join, [], `join(${name})`)
  await servers.meet(`begin of ${name}`, null)
  let anyStopped = false
  const read = { chunks: [] as number[], of: 0 }
  const result = await runtime.pass(phase, epoch, undefined, {
    ...(part && {
      part,
      onChunk: (place: number, of: number) => {
        read.chunks.push(place)
        read.of = of
      },
    }),
    ...(part && takesOver && { claim: claimChunks(servers, name) }),
    ...(files && { files }),
    ...(stop && { onReport: ({ stopping }: StepReport) => stopping && stop() }),
    ...(training && { afterBatch: (index: number) => strategy.afterBatch(runtime, index) }),
    together: async (own) => {
      if (training) await strategy.settle(runtime)
      // Steps of the others go on without this worker.
      await servers.requestAll(METHODS.leave, [], `leave(${name})`)
      const met = await servers.meet<Measured>(`end of ${name}`, { meter: plainMeter(own), stopped: stopped(), read })
      anyStopped = met.some((one) => one.stopped)
      const lists = met.map((one) => one.read)
      if (!anyStopped) checkSplit(name, lists)
      const others = part && takenOver(name, part, read)
      if (others) emit({ kind: 'notice', message: others })
      const merged = mergeMeters(met.map(({ meter }) => meter))
      if (tellsTotal && !anyStopped) tellTotal(part ? merged.samples : own.samples, emit)
      return merged
    },
  })
  return { ...result, interrupted: anyStopped }
}

interface Measured {
  readonly meter: PlainMeter
  readonly stopped: boolean
  readonly read: ChunksRead
}
