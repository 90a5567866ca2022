/** @file Steps of a dynamic model in this thread, over parameters that a test can set and watch. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openReader } from '../../src/data/index.ts'
import { ortEngine } from '../../src/graph/engine/index.ts'
import { openDygraph } from '../../src/model/index.ts'
import { DygraphStep } from '../../src/training/step/dygraph-step.ts'
import { type BatchParams, createLocalParams, LocalParams } from '../../src/weights/params/index.ts'

export interface StepsOptions {
  /** An absolute path, or a file beside this one. */
  readonly model: string
  readonly text: readonly string[]
  readonly batchSize: number
  readonly training?: boolean
  readonly sessions?: number
  readonly prepare?: (params: LocalParams) => void
  readonly onPush?: (share: BatchParams, params: LocalParams) => void
}

/** Runs every batch of the text; what each step returned, what was noticed, and the parameters after it. */
export async function runSteps({ model, text, batchSize, training = true, sessions, prepare, onPush }: StepsOptions) {
  const file = isAbsolute(model) ? model : fileURLToPath(new URL(model, import.meta.url))
  const dygraph = await openDygraph({ file, values: {}, runner: { device: 'cpu', sync_mode: 'async' } })
  const { owned: program, optimizers, slots, metrics } = dygraph
  const local = new LocalParams(createLocalParams({ program, ...optimizers, seed: 1, threads: 1, segments: 2 }), 0)
  prepare?.(local)
  const notices: string[] = []
  const step = new DygraphStep({
    ...{ dygraph, engine: ortEngine(), slots, metrics, batchSize, training, segments: 2, seed: 1 },
    layout: local.dense.layout,
    onNotice: (message) => notices.push(message),
    ...(sessions !== undefined && { sessions }),
    params: {
      pull: (share, insert) => local.pull(share, insert),
      push(share) {
        onPush?.(share, local)
        return local.push(share)
      },
      flush: () => local.flush(),
    },
  })
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-dygraph-'))
  try {
    await writeFile(join(folder, 'part-0'), `${text.join('\n')}\n`)
    const results = []
    for await (const batch of openReader({ files: [join(folder, 'part-0')], slots, batchSize, threads: 1, epoch: 0 }))
      results.push(await step.complete(step.prepare(batch)))
    return { results, notices, params: local, step }
  } finally {
    await rm(folder, { recursive: true })
  }
}
