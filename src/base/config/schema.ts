/** @file The whole config.yaml as one zod schema: unknown keys are errors, every key has a sentence and a default; and the same for editors. */
import { z } from 'zod'
import { CLUSTER, ONLINE } from './cluster-keys.ts'
import { free, type OptionGroup, optionalText } from './option.ts'
import { UNNEEDED, ZOO } from './paddlerec-keys.ts'
import { EVALUATION, READING, SAVING, TRAINING } from './runner-keys.ts'
import { tableParameters } from './table-parameters.ts'

/** In the order docs show them. */
export const RUNNER_GROUPS: readonly OptionGroup[] = [
  TRAINING,
  READING,
  EVALUATION,
  SAVING,
  CLUSTER,
  ONLINE,
  UNNEEDED,
  ZOO,
]

export const runnerSchema = z
  .strictObject({
    ...TRAINING.shape,
    ...READING.shape,
    ...EVALUATION.shape,
    ...SAVING.shape,
    ...CLUSTER.shape,
    ...ONLINE.shape,
    ...UNNEEDED.shape,
    ...ZOO.shape,
  })
  .meta({
    description: 'The run: data, batches, epochs, readers, saving, cluster.',
    example: { train_data_dir: 'data/train', train_batch_size: 512 },
  })

export const userConfigSchema = z.strictObject({
  workspace: optionalText(
    'What `{workspace}` in a value stands for, relative to the working folder; unset: the folder of the yaml.',
    'models/rank/dnn',
  ),
  runner: runnerSchema,
  hyper_parameters: free('Optimizer and sizes of the model, checked by the schema the model declares.'),
  table_parameters: z
    .record(z.string(), tableParameters)
    .default({})
    .meta({ description: 'Sparse tables of parameter servers, by the name of the embedding.' }),
  fs_name: optionalText('The same as `runner.fs_name`.', 'hdfs://host:9870'),
  fs_ugi: optionalText('The same as `runner.fs_ugi`.', 'user,password'),
  last_epoch: z.int().min(-1).optional().meta({ description: 'The same as `runner.last_epoch`.', example: -1 }),
})

/** Of a config that has nothing to train on. */
export const evaluationSchema = userConfigSchema.extend({
  runner: z.strictObject({ ...runnerSchema.shape, train_data_dir: runnerSchema.shape.train_data_dir.optional() }),
})

/** What a yaml holds once its keys and types are right: defaults filled, paths as written. */
export type UserConfig = z.infer<typeof userConfigSchema>
export type RunnerKeys = UserConfig['runner']

/** JSON Schema (draft 7, which yaml editors know best) of config.yaml. */
export function jsonSchema(): object {
  const schema = z.toJSONSchema(userConfigSchema, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema: node }) => {
      const { example, expected: _expected, aliases, refused: _refused, ...rest } = node as Record<string, unknown>
      for (const key of Object.keys(node)) delete (node as Record<string, unknown>)[key]
      Object.assign(node, rest)
      if (example !== undefined) Object.assign(node, { examples: [example] })
      if (Array.isArray(node.enum) && aliases) node.enum = [...node.enum, ...Object.keys(aliases)]
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum
    },
  })
  return { ...schema, title: 'Oarfish config.yaml' }
}
