/** @file The `runner` keys of training, evaluation, readers and saving: PaddleRec's names and defaults, and Oarfish's own few. */
import { z } from 'zod'
import { DEVICE_NAMES } from '../device/index.ts'
import { choice, count, flag, free, group, names, optionalCount, optionalText, text } from './option.ts'

export const READER_TYPES = [
  'DataLoader',
  'QueueDataset',
  'RecDataset',
  'InmemoryDataset',
  'CustomizeDataLoader',
] as const
export const READER_FILES = ['auto', 'each', 'all'] as const
export const DATA_FORMATS = ['auto', 'slot', 'multislot', 'csv', 'parquet'] as const
export const ON_BAD_LINE = ['error', 'skip'] as const
export const COLUMN_TYPES = ['number', 'hash'] as const
export const THREAD_MODES = ['sync', 'async'] as const
export const EXAMPLE_COUNT_METHODS = ['example', 'word'] as const

// PaddleRec's own configs use both spellings.
export const READER_TYPE_ALIASES = { InMemoryDataset: 'InmemoryDataset' } as const

const isPowerOfTwo = (value: number) => Number.isInteger(Math.log2(value))

export const TRAINING = group('Training', 'What is trained, on what, and for how long.', {
  train_data_dir: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).meta({
    description:
      'Training data: every file of this folder (no recursion), or of each folder of a list, relative to the yaml; a config without it can only evaluate.',
    example: 'data/train',
    expected: 'a folder, or a list of folders',
  }),
  train_batch_size: z.int().min(1).meta({
    description: 'Samples in a training batch.',
    example: 512,
  }),
  epochs: count(1, 1, 'How often the training data is read.'),
  seed: count(12345, 0, 'Seed of initial weights, new table rows, shuffling and dropout.'),
  thread_num: count(1, 1, 'Trainer threads of this process; with 1 a repeated run is bit-identical.'),
  thread_mode: choice(
    THREAD_MODES,
    'async',
    'async: each thread takes batches of its own and computes for dense weights as they will be when the others are done; sync: the threads share every batch and make the steps of one thread together, which is slower.',
  ),
  print_interval: count(10, 1, 'Print a line every so many batches.'),
  training_warnings: flag(
    true,
    'Warn once when log loss rises, predictions are off (COPC), rows grow out of bounds or workers of geo drift apart, with the key to change.',
  ),
  device: z.enum(DEVICE_NAMES).optional().meta({
    description:
      'What computes: cpu, webgpu or cuda, which must then be there; gpu = the best device of this host, else the CPU with a notice. Stands above use_gpu; `oarfish devices` lists what there is.',
    example: 'webgpu',
  }),
  use_gpu: z.boolean().optional().meta({
    description:
      "True: compute on the best device of this host, else on the CPU with a notice (PaddleRec's default is True). Not written: as CUDA_VISIBLE_DEVICES and FLAGS_selected_gpus say, else on the CPU.",
    example: false,
  }),
  use_auc: flag(false, 'Report AUC beside the loss.'),
  server_threads: count(
    1,
    1,
    'Threads of a parameter server that answer pulls and pushes, each at a port of its own; has an effect with sync_mode async.',
  ),
  table_segments: z.int().min(1).max(64).refine(isPowerOfTwo).default(4).meta({
    description: 'Memory segments of an embedding table, each holding up to 4 GiB; a power of two up to 64.',
    expected: 'a power of two from 1 to 64',
  }),
})

export const READING = group('Reading', 'How input files become batches.', {
  reader_type: choice(
    READER_TYPES,
    'DataLoader',
    'How samples are read: DataLoader and RecDataset run the reader of `train_reader_path` or the built-in slot reader; QueueDataset and InmemoryDataset run `pipe_command`; CustomizeDataLoader runs the class RecDataset that the model’s own file exports.',
    READER_TYPE_ALIASES,
  ),
  train_reader_path: text(
    'reader',
    'Reader module (class RecDataset) for training, without its ending, relative to the yaml: a .ts file, else a .py file, which Python processes run; where there is neither the built-in reader reads the data.',
  ),
  reader_files: choice(
    READER_FILES,
    'auto',
    'How a Python reader is given its files: each = one at a time, so that several processes read; all = all of this process at once, as PaddleRec does; auto = each where its text shows one loop over the files that gives all samples, else all.',
  ),
  data_format: choice(
    DATA_FORMATS,
    'auto',
    'What the built-in reader expects: slot (`click:0 dense_feature:0.2 1:737395`), multislot (`1 0 13 0.2 ...`), csv or parquet (see `columns`), or auto = by the endings .csv, .tsv and .parquet, else by the first line of the data; a `pipe_command` prints multislot.',
  ),
  on_bad_line: choice(
    ON_BAD_LINE,
    'error',
    'A malformed line stops the run with its file and line, or is skipped and counted.',
  ),
  num_workers: count(0, 0, 'Reader threads under their PaddleRec name; `reader_threads` wins when both are set.'),
  reader_threads: count(0, 0, 'Reader threads; 0 = automatic. Batches do not depend on it.'),
  pipe_command: optionalText(
    'Command that QueueDataset and InmemoryDataset run for each file, in the folder of the yaml: raw lines on stdin, MultiSlot text on stdout; unset: the files are read as they are.',
    'python3 queuedataset_reader.py',
  ),
  global_shuffle: flag(
    false,
    'Shuffle the samples of all workers before each epoch, by `seed`: for reader_type InmemoryDataset.',
  ),
  local_shuffle: flag(false, 'Shuffle the samples before each epoch, by `seed`: for reader_type InmemoryDataset.'),
  columns: z
    .record(
      z.string(),
      z.union([
        z.string().min(1),
        z.array(z.string().min(1)).min(1),
        z.strictObject({
          from: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
          type: z.enum(COLUMN_TYPES).default('number'),
          split: z.string().min(1).optional(),
        }),
      ]),
    )
    .default({})
    .meta({
      description:
        'Which columns of csv or parquet data fill which slot: a column, a list of columns, or `{from, type: number | hash, split}`; a slot that is not listed is the column of its name.',
    }),
  csv_delimiter: optionalText('Text between the cells of csv data; unset: a tab in .tsv files, else a comma.', ';'),
  csv_header: flag(true, 'The first line of csv data names its columns; without, they are named 1, 2, 3...'),
  dataset_debug: flag(false, 'Print the shares of reading, pulling, computing and pushing at the end of each epoch.'),
  split_file_list: flag(false, 'Deal the files out to the workers: for data that every node has in full.'),
  parse_ins_id: flag(false, 'Each line of MultiSlot text begins with `1 {instance id}`.'),
  parse_content: flag(
    false,
    'Each line of MultiSlot text has `1 {content}` before its slots, behind the instance id if there is one.',
  ),
  custom: free('Keys for the model or the reader, checked by the schema it declares; not checked here.'),
})

export const BEST_IS = ['auto', 'higher', 'lower'] as const

export const EVALUATION = group('Evaluation', 'How a model is evaluated, after each epoch or by `oarfish infer`.', {
  test_data_dir: optionalText(
    'Folder of the evaluation data, relative to the yaml; unset: no evaluation.',
    'data/test',
  ),
  infer_batch_size: optionalCount(1, 'Samples in an evaluation batch; unset: as `train_batch_size`.', 512),
  infer_reader_path: text('reader', 'Reader module for evaluation, as `train_reader_path`.'),
  infer_reader_type: z.enum(READER_TYPES).optional().meta({
    description: 'How evaluation data is read; unset: as `reader_type`.',
    example: 'DataLoader',
    aliases: READER_TYPE_ALIASES,
  }),
  infer_load_path: optionalText(
    'Folder of the saved models that `oarfish infer` evaluates, relative to the working folder; unset: as `model_save_path`.',
    'model_output',
  ),
  infer_start_epoch: count(0, 0, 'First saved epoch that `oarfish infer` evaluates.'),
  infer_end_epoch: count(10, 1, 'One past the last saved epoch that `oarfish infer` evaluates.'),
  infer_thread_num: count(1, 1, 'Threads of an evaluation.'),
  keep_best: optionalText(
    'Metric of the evaluation by which the best epoch is known: `keep_checkpoints` spares it and `oarfish export` takes it. It is in `epochs.json` of `model_save_path`.',
    'auc',
  ),
  early_stop: z
    .strictObject({
      metric: z.string().min(1),
      patience: z.int().min(1),
      min_delta: z.number().min(0).default(0),
    })
    .optional()
    .meta({
      description:
        'Stop when this metric of the evaluation was no better in `patience` epochs than before, by more than `min_delta` (0 unless given).',
      example: { metric: 'auc', patience: 2 },
      expected: 'a metric and a number of epochs, {metric: auc, patience: 2}',
    }),
  best_is: choice(
    BEST_IS,
    'auto',
    'Which values of `keep_best` and `early_stop` are better; auto = by name: lower for losses and errors, next to 1 for copc and calibration, else higher.',
  ),
  recall_at: z
    .array(z.int().min(1))
    .default([])
    .meta({
      description:
        'Of a model with `vectors`: evaluations also rank all items for each user, and show `recall@K` (the hit rate), `ndcg@K` for these K, and `mrr`; see recall.md. In a job of one process.',
      example: [10, 50],
      expected: 'a list of whole numbers from 1 on, [10, 50]',
    }),
  recall_items: optionalText(
    'File with a line for each item, an id or its features as the data has them, relative to the working folder; unset: all items of the table.',
    'items.txt',
  ),
  recall_exclude: names(
    'Slots of users whose items are not ranked by `recall_at`, such as `[history]`: those that they have seen.',
  ),
  slices: names(
    'Slots by whose values AUC is also shown at the end of each epoch, such as `[gender, city]`; up to 50 values each, those with most samples first.',
  ),
})

export const SAVING = group('Saving and loading', 'Where models go and come from.', {
  model_save_path: text(
    'model_output',
    'Folder for saved models, `<epoch>/` each, relative to the working folder; empty: nothing is saved.',
  ),
  use_visual: flag(
    false,
    'Write the curves as event files that TensorBoard and VisualDL open: into `tensorboard`, else into `tensorboard/` of the run folder.',
  ),
  tensorboard: optionalText(
    'Folder of such event files, relative to the working folder; stands above `use_visual`.',
    'tensorboard',
  ),
  mlflow: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'Address of an MLflow server that gets settings, metrics and the end of each run; a server that is away holds nobody up. `MLFLOW_TRACKING_TOKEN`, or `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`, are sent along.',
      example: 'http://127.0.0.1:5000',
      expected: 'an address such as http://127.0.0.1:5000',
    }),
  mlflow_experiment: optionalText('Its experiment there; unset: the name of the model folder.', 'ctr'),
  run_dir: z.string().optional().meta({
    description:
      'Folder of run folders, `<name>/` each: configuration, events and curves of every run, which `oarfish dashboard` and `oarfish runs` show; relative to the working folder, empty: none. Unset: `runs` beside `model_save_path`.',
    example: 'runs',
  }),
  keep_checkpoints: count(0, 0, 'How many saved epochs to keep, newest first; 0 = all.'),
  model_init_path: optionalText(
    'Saved model to start from, relative to the working folder: weights and, where the optimizer is the same, its state.',
    'model_output/2',
  ),
  last_epoch: count(
    -1,
    -1,
    'Resume after this saved epoch; -1 = from the start. `oarfish train --resume` finds the newest by itself.',
  ),
  use_inference: flag(
    false,
    'After each epoch also write `<epoch>/inference/`: a model to score with, see export-format.md.',
  ),
  save_inference_feed_varnames: names('Inputs of the inference model; empty: all that its outputs need.'),
  save_inference_fetch_varnames: names('Outputs of the inference model; empty: all that the model names.'),
  warmup_model_path: optionalText('Saved tables and weights that servers start from.', 'model_output/2'),
  need_dump: flag(false, 'Write the fields of every sample while training.'),
  dump_fields_path: text('', 'Folder of the dumped fields.'),
  dump_fields: names('Variables to dump per sample.'),
  dump_param: names('Parameters to dump.'),
  runner_result_dump_path: optionalText('Folder for the predictions of an evaluation.', 'infer_result'),
})
