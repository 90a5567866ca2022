/** @file PaddleRec 1.x's config.yaml as one zod schema: runners, datasets and phases by name. Further keys belong to models and readers. */
import { z } from 'zod'
import { choice, count, flag, free, group, names, optionalText, text } from '../option.ts'

export const RUNNER_CLASSES = ['train', 'infer', 'local_cluster_train', 'cluster_train'] as const
export const STRATEGIES = ['async', 'sync', 'half_async', 'geo'] as const

const name = (what: string, example: string) =>
  z
    .string()
    .min(1)
    .meta({ description: `Names the ${what}.`, example, expected: 'a name' })

/** Saving after each so many: -1 stands for every one. */
const interval = (description: string) =>
  z
    .int()
    .refine((value) => value === -1 || value >= 1)
    .default(-1)
    .meta({ description, expected: 'a whole number from 1 on, or -1' })

export const RUNNER_V1 = group('runner[]', 'One way to run; `mode` selects by name.', {
  name: name('runner', 'train'),
  class: z
    .enum(RUNNER_CLASSES)
    .meta({ description: 'What to do: train, infer, or train with several processes.', example: 'train' }),
  device: choice(
    ['cpu', 'gpu'],
    'cpu',
    'Where to compute; gpu = the best device of the host, else the CPU with a notice.',
  ),
  epochs: count(1, 1, 'How often the data is read; infer reads it once for each saved model.'),
  phases: names('Phases to run, by name, in the order of `phase`; empty: all.'),
  print_interval: count(20, 1, 'Batches between two progress lines.'),
  init_model_path: text(
    '',
    'Saved model to start from; infer evaluates each of its sub-folders, or itself where it has none.',
  ),
  save_checkpoint_interval: interval(
    'Save after each so many epochs, and after the last; -1 or unset: after every epoch.',
  ),
  save_checkpoint_path: text('', 'Folder of the checkpoints, `<epoch>/` each, from 0; empty: nothing is saved.'),
  save_inference_interval: interval('As `save_checkpoint_interval`, for models for inference.'),
  save_inference_path: text('', 'Folder of the models for inference; empty: none.'),
  save_inference_feed_varnames: names('Inputs of the model for inference; empty: all.'),
  save_inference_fetch_varnames: names('Outputs of the model for inference; empty: all.'),
  save_step_interval: interval('Save after each so many batches, batch 0 included; -1: never.'),
  save_step_path: text('', 'Folder of these, `epoch_<e>_batch_<b>/` each.'),
  runner_result_dump_path: text('', 'File for what each batch computed, as JSON; training adds `_epoch_<e>`.'),
  fleet_mode: choice(['ps', 'collective', 'pslib', 'hybrid'], 'ps', 'How several processes work together.'),
  distribute_strategy: choice(STRATEGIES, 'async', 'When gradients travel between workers and servers.'),
  selected_gpus: text('0', 'Cards, separated by commas.'),
  worker_num: count(1, 1, 'Workers of local_cluster_train.'),
  server_num: count(1, 1, 'Servers of local_cluster_train.'),
  seed: count(12345, 0, 'Seed of initial weights, new table rows and shuffling (not a PaddleRec key).'),
})

/** Keys of PaddleRec's that replace parts of its trainer; there is nothing to replace here. */
// biome-ignore format: a list
export const REPLACED_PARTS = [
  'trainer_class', 'instance_class_path', 'network_class_path', 'startup_class_path', 'runner_class_path', 'terminal_class_path',
  'init_pretraining_model_path', 'finetuning_aspect_varnames',
] as const

export const DATASET_V1 = group('dataset[]', 'Data and how it is read. Further keys belong to the reader.', {
  name: name('dataset', 'dataset_train'),
  type: choice(
    ['DataLoader', 'QueueDataset'],
    'DataLoader',
    'DataLoader leaves out a last, smaller batch, QueueDataset keeps it; otherwise both read alike.',
    {
      dataloader: 'DataLoader',
      QueueDataSet: 'QueueDataset',
      queuedataset: 'QueueDataset',
    },
  ),
  batch_size: z
    .int()
    .min(1)
    .meta({ description: 'Samples in a batch; a last, smaller batch is left out.', example: 32 }),
  data_path: z.string().min(1).meta({
    description: 'Folder of the data, sub-folders included; `paddlerec::` before it: in the package.',
    example: '{workspace}/data/train',
    expected: 'a folder',
  }),
  sparse_slots: text('', 'Names of the sparse slots, separated by spaces; the first is the label.'),
  dense_slots: text('', 'Dense slots as `name:width`, separated by spaces.'),
  padding: z.int().default(0).meta({ description: 'Value of a slot that a line does not have.' }),
  data_converter: optionalText('Reader module, used where no slots are given.', '{workspace}/reader.py'),
  reader_class_name: text('Reader', 'Its class.'),
})

export const PHASE_V1 = group('phase[]', 'One model on one dataset.', {
  name: name('phase', 'phase1'),
  model: z.string().min(1).meta({
    description: 'The model; `model.py` stands for model.ts, or static_model.ts, beside it.',
    example: '{workspace}/model.py',
    expected: 'a file',
  }),
  dataset_name: z.string().min(1).meta({ description: 'The dataset it reads.', example: 'dataset_train' }),
  thread_num: count(1, 1, 'Trainer threads.'),
  gradient_scale_strategy: z
    .union([z.literal(0), z.literal(1), z.literal(2)])
    .default(0)
    .meta({
      description: 'Kept for the sake of PaddleRec: every thread here makes steps of its own.',
      expected: '0, 1 or 2',
    }),
  shuffle_filelist: flag(false, 'Read the files in another order in each epoch.'),
})

export const GROUPS_V1 = [RUNNER_V1, DATASET_V1, PHASE_V1] as const

export const runnerV1 = z.looseObject(RUNNER_V1.shape)
export const datasetV1 = z.looseObject(DATASET_V1.shape)
export const phaseV1 = z.looseObject(PHASE_V1.shape)

const list = <T extends z.ZodType>(item: T, description: string, example: unknown) =>
  z
    .array(item)
    .min(1)
    .meta({ description, example: [example], expected: 'a list of groups of keys, each with a name' })

export const configV1 = z.looseObject({
  workspace: z.string().min(1).meta({
    description:
      'What `{workspace}` stands for, relative to the working folder; `paddlerec.models...`: in the package.',
    example: './',
    expected: 'a folder',
  }),
  mode: z
    .array(z.string())
    .min(1)
    .meta({ description: 'Runners to run, in order.', example: ['train'], expected: 'names of runners' }),
  runner: list(runnerV1, 'Ways to run.', { name: 'train', class: 'train' }),
  dataset: z.array(datasetV1).default([]).meta({ description: 'Data, by name.', expected: 'a list of groups of keys' }),
  phase: list(phaseV1, 'Models on data.', {
    name: 'phase1',
    model: '{workspace}/model.py',
    dataset_name: 'dataset_train',
  }),
  hyper_parameters: free('Optimizer and sizes of the model, checked by the schema the model declares.'),
  debug: z.boolean().default(false).meta({ description: 'Kept for the sake of PaddleRec.' }),
  train: z
    .looseObject({
      strategy: z
        .looseObject({
          mode: z.looseObject({ push_num: count(100, 1, 'Batches between two exchanges of geo.') }).prefault({}),
        })
        .prefault({}),
    })
    .prefault({})
    .meta({ description: '`train.strategy.mode.push_num`: batches between two exchanges of geo.' }),
})

/** What a yaml holds once its keys and types are right: defaults filled, paths as written. */
export type UserConfigV1 = z.infer<typeof configV1>
export type UserRunnerV1 = z.infer<typeof runnerV1>
export type UserDatasetV1 = z.infer<typeof datasetV1>
export type UserPhaseV1 = z.infer<typeof phaseV1>
