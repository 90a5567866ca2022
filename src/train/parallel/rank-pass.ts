/** @file One phase of one epoch on all ranks: each reads its part, steps are made together, what was measured is added up. */
import type { Group } from '../../collective/index.ts'
import type { EventSink } from '../../event/index.ts'
import { anyFiles, contentOf } from '../../fs/index.ts'
import type { PassResult, PassStart } from '../loop.ts'
import type { Phase } from '../messages.ts'
import type { Runtime } from '../runtime.ts'
import { mergeMeters, type PlainMeter, plainMeter } from '../together.ts'
import { type ChunksRead, checkSplit } from '../worker-split.ts'
import { meet } from './meet.ts'
import type { RankInput } from './rank-input.ts'

export interface RankPass {
  readonly group: Group
  readonly runtime: Runtime
  readonly input: RankInput
  readonly files: readonly string[]
  /** Ends the pass here, because another rank was told to stop. */
  readonly stop: () => void
  readonly stopped: () => boolean
  readonly emit: EventSink
}

interface Measured {
  readonly meter: PlainMeter
  readonly stopped: boolean
  readonly read: ChunksRead
}

/** From the beginning of the epoch, or from where this rank was when all were stopped. */
export async function rankPass(options: RankPass, phase: Phase, epoch: number, from?: PassStart): Promise<PassResult> {
  const { group, runtime, input, stop, stopped, emit, files } = options
  const read = { chunks: [] as number[], of: 0 }
  const isWhole = from === undefined || from.position.batch === 0
  let anyStopped = false
  const result = await runtime.pass(phase, epoch, from, {
    ...input,
    inStep: phase === 'train',
    ...(input.part && {
      onChunk: (place: number, of: number) => {
        read.chunks.push(place)
        read.of = of
      },
    }),
    onReport: ({ stopping }) => stopping && stop(),
    together: async (own) => {
      const met = await meet<Measured>(group, { meter: plainMeter(own), stopped: stopped(), read })
      anyStopped = met.some((one) => one.stopped)
      if (!anyStopped && isWhole && input.part)
        checkSplit(
          `epoch ${epoch}, ${phase}`,
          met.map((one) => one.read),
        )
      return mergeMeters(met.map(({ meter }) => meter))
    },
  })
  if (!anyStopped && phase === 'train' && group.rank === 0) {
    const counts = input.allFiles ? await countLines(files) : undefined
    const { samples } = result.meter
    emit(comparison(epoch, samples, group.size, isWhole ? read.of : 0, counts))
  }
  return { ...result, interrupted: anyStopped }
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
