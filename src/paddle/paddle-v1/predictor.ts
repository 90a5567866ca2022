/** @file A saved pass, asked: the network of a trainer_config.ts with its weights, sample by sample or many at once. */
import { programConfig } from '../../base/config/index.ts'
import { batchOf, createColumnWriter } from '../../data/index.ts'
import { ortEngine } from '../../graph/engine/index.ts'
import { HostStep, hostGraph } from '../../training/step/index.ts'
import { createLocalParams, denseLayout, LocalParams } from '../../weights/params/index.ts'
import { loadSnapshot, openSnapshot } from '../../weights/snapshot/index.ts'
import { configError } from './errors.ts'
import { loadTrainerConfig } from './load-config.ts'
import type { InputType, ProvidedSample } from './provider.ts'
import { sampleReader, typedInputs } from './samples.ts'

/** Options of openPassPredictor. */
export interface PassPredictorOptions {
  /** A trainer_config.ts whose outputs are what is asked. */
  readonly config: string
  /** name=value,name=value for getConfigArg. @default '' */
  readonly configArgs?: string | undefined
  /** A saved pass: output/pass-00009. */
  readonly model: string
  /** What samples hold, where the configuration names no data: by the names of data layers. */
  readonly inputTypes?: Readonly<Record<string, InputType>> | undefined
}

/** An open pass. */
export interface PassPredictor {
  /** By the name of each output, the values of every sample in turn. */
  predict(samples: readonly ProvidedSample[]): Promise<Readonly<Record<string, Float32Array>>>
  close(): Promise<void>
}

export async function openPassPredictor(options: PassPredictorOptions): Promise<PassPredictor> {
  const { config: path, configArgs = '', model: folder } = options
  const { model, layers, sources, trains } = await loadTrainerConfig(path, configArgs)
  if (trains)
    throw configError(
      `${path}: its outputs are costs, which cannot be predicted.`,
      "Give outputs() the layer that is asked for, for example where getConfigArg('is_predict', false) is true.",
    )
  const types = options.inputTypes ?? sources?.provider.open(sources.args).inputTypes
  if (!types)
    throw configError(
      `${path} says nothing of its inputs.`,
      'Pass inputTypes, or call defineDataSources in the configuration.',
    )
  const read = sampleReader(typedInputs(layers, types))
  const { runner } = programConfig({}, process.cwd())
  const { optimizer, infer: program, slots, outputs } = model
  const handle = createLocalParams({ program, optimizer, seed: runner.seed, threads: 1 })
  const params = new LocalParams(handle, 0)
  await loadSnapshot({
    snapshot: await openSnapshot(folder, 'model'),
    params,
    emit: () => undefined,
    otherOptimizer: 'weights',
  })
  const host = new HostStep({
    program,
    graph: hostGraph(await ortEngine().compile(program)),
    params,
    layout: denseLayout(program, optimizer),
    segments: runner.table_segments,
    slots,
    metrics: [],
    training: false,
    seed: runner.seed,
    batchSize: 1,
  })
  return {
    predict: async (samples) => {
      const writer = createColumnWriter(slots)
      for (const sample of samples) writer.add(read(sample))
      await host.run(batchOf(writer.take().columns))
      const found = host.outputs(outputs)
      return Object.fromEntries(outputs.map((name) => [name, found[name]!.data as Float32Array]))
    },
    close: () => host.close(),
  }
}
