/** @file The `runner` keys of parameter servers, collective training, remote file systems, and online training. */
import { z } from 'zod'
import { SIZE } from '../util/index.ts'
import { choice, count, flag, group, names, optionalCount, optionalText, text } from './option.ts'
import { EXAMPLE_COUNT_METHODS } from './runner-keys.ts'

export const SYNC_MODES = ['sync', 'async', 'half_async', 'geo', 'gpubox'] as const
export const FLEET_MODES = ['auto', 'hybrid'] as const
export const GEO_DELTAS = ['whole', 'share'] as const
export type GeoDelta = (typeof GEO_DELTAS)[number]
export const WIRE_PRECISIONS = ['float32', 'float16'] as const
export type WirePrecision = (typeof WIRE_PRECISIONS)[number]
export const SCALE_LR = ['none', 'sqrt', 'linear'] as const
export type ScaleLr = (typeof SCALE_LR)[number]
export const COLLECTIVES = ['auto', 'mpi', 'ring'] as const
export type Collective = (typeof COLLECTIVES)[number]

export const CLUSTER = group('Parameter servers and collective training', 'No effect on a run of one process.', {
  sync_mode: choice(SYNC_MODES, 'async', 'When gradients travel between workers and servers.').meta({
    refused: { heter: 'heter is not part of Oarfish, expected sync | async | half_async | geo | gpubox' },
  }),
  fleet_mode: choice(
    FLEET_MODES,
    'auto',
    'hybrid: servers hold rows only, each worker has all dense weights and they are averaged among the workers; needs sync_mode async.',
  ),
  geo_step: count(100, 1, 'Batches between two exchanges of a geo worker’s rows.'),
  geo_dense_step: count(
    2,
    1,
    'Batches between two exchanges of rows that two batches or more have trained since the last; with geo_delta: share of dense weights, instead.',
  ),
  geo_delta: choice(
    GEO_DELTAS,
    'whole',
    'whole: a geo worker brings in all changes of rows, and servers train the dense weights, whose gradients go there with every batch; share: of all changes one of as many parts as there are workers, the rest later, which is Paddle’s rule.',
  ),
  hot_rows: count(
    0,
    0,
    'async: rows that each thread of a worker keeps of its last batches, of tables that look up the same; those that come again are not pulled again, and their gradients go to the servers as one sum. 0: none.',
  ),
  hot_rows_batches: count(8, 1, 'Batches after which rows that are kept by hot_rows are pulled anew.'),
  max_staleness: optionalCount(
    0,
    'So many batches of a thread a worker may be ahead of the slowest worker, in async, half_async and geo; 0: all wait for each other after every batch, as in sync; unset: nobody waits.',
    4,
  ),
  scale_lr: choice(
    SCALE_LR,
    'none',
    'What is made of learning rates where n batches are one step, in sync and in collective training: none leaves them, sqrt and linear multiply them by the root of n or by n.',
  ),
  wire_precision: choice(
    WIRE_PRECISIONS,
    'float32',
    'How rows, gradients and dense weights travel between hosts: float16 halves the bytes; servers keep and update float32.',
  ),
  server_memory_mb: optionalCount(
    1,
    'Megabytes that the tables of one server may take, beyond which new rows are refused; 90 % of the memory of its host or container unless set.',
    8192,
  ),
  pass_memory: z.string().regex(SIZE).optional().meta({
    description:
      'sync_mode gpubox: memory for the passes that are in it at once, samples and rows; epochs are cut into as many passes as that takes. One pass an epoch unless set.',
    example: '8GB',
    expected: 'an amount like 512MB or 8GB',
  }),
  use_fleet: flag(false, 'Collective training: one model over all processes.'),
  collective: choice(
    COLLECTIVES,
    'auto',
    'What sums gradients in collective training: MPI, an embedded ring, or whichever fits.',
  ),
  tls: z
    .union([
      z.literal('auto'),
      z.strictObject({
        cert: z.string().min(1),
        key: z.string().min(1),
        ca: z.string().min(1),
      }),
    ])
    .optional()
    .meta({
      description:
        'Encrypts connections between processes on different hosts, both sides showing a certificate: auto makes certificates of the job’s token, `{cert, key, ca}` names PEM files, relative to the yaml. OARFISH_TLS comes first. See guide/security.md.',
      example: 'auto',
      expected: 'auto, or {cert, key, ca}',
    }),
  silence_limit: z.number().min(1).max(86_400).optional().meta({
    description:
      'Seconds without a sign of life after which a process counts as gone and the job ends; 10 unless set here, by OARFISH_SILENCE_LIMIT or by FLAGS_rpc_deadline. One whose connection closes is gone at once. Processes that differ take the longest.',
    example: 30,
    expected: 'seconds from 1 to 86400',
  }),
  snapshot_interval: z
    .union([z.int().min(0), z.string().regex(/^\d+(\.\d+)?\s*s$/)])
    .optional()
    .meta({
      description:
        'Saves the whole job inside an epoch into model_save_path every so many batches of a process, or seconds (`60s`): --resume, and a launcher whose processes die, go on there. Unset: 60s with servers and among ranks, in one process after each epoch alone; 0: nowhere inside an epoch.',
      example: '60s',
      expected: 'a number of batches like 1000, seconds like 60s, or 0',
    }),
  replicated_table_mb: count(
    256,
    0,
    'Collective training: tables that may grow larger are divided among the ranks, others are whole on each; 0 divides all.',
  ),
  example_count_method: choice(EXAMPLE_COUNT_METHODS, 'example', 'What the printed rate counts.'),
  fs_name: text(
    '',
    'File system of data whose address has no host (`hdfs:/train`), or the endpoint of a bucket: `hdfs://host:port`, `s3://bucket?endpoint=URL`.',
  ),
  fs_ugi: text(
    '',
    'User and password for data at `hdfs://`, `afs://` or `s3://`, separated by a comma; the variable OARFISH_FS_UGI comes first.',
  ),
  fs_client: z
    .strictObject({
      uri: text('', 'Remote file system.'),
      user: text('', 'Its user.'),
      passwd: text('', 'Its password.'),
      hadoop_bin: text('hadoop', 'The hadoop command.'),
    })
    .optional()
    .meta({ description: 'Remote file system of online training.', example: { uri: 'hdfs://host:9000' } }),
  model_mode: count(0, 0, 'Which part of a saved parameter-server model is loaded: 0 all, 1 delta, 2 base, 3 batch.'),
  init_model_path: optionalText('Saved model that the offline evaluation loads.', 'model_output/2'),
  data_dir: optionalText('Data of the offline evaluation, relative to the yaml.', 'data/offline'),
  batch_size: optionalCount(1, 'Batch size of the offline evaluation.', 512),
})

export const ON_LATE_DATA = ['wait', 'skip', 'stop'] as const
export const EVALUATE = ['before', 'next', 'none'] as const
export const STREAM_ENDS = ['wait', 'stop'] as const
export const DELTA_FORMATS = ['paddle', 'oarfish', 'both'] as const
export type DeltaFormat = (typeof DELTA_FORMATS)[number]
export const DELTA_ROWS = ['float32', 'int8'] as const
export type DeltaRows = (typeof DELTA_ROWS)[number]

const day = (description: string, example: string) =>
  z
    .string()
    .regex(/^\d{8}$/)
    .optional()
    .meta({ description, example, expected: 'a day as YYYYMMDD' })

export const ONLINE = group('Online training', 'Data in `<train_data_dir>/<day>/<HHMM>/`, trained pass by pass.', {
  start_day: day('First day: a config that has it trains day by day, see guide/online-training.md.', '20190720'),
  end_day: day('Last day; unset: training goes on for ever.', '20190722'),
  split_interval: count(5, 1, 'Minutes of data in a folder.'),
  split_per_pass: count(1, 1, 'Folders in a pass.'),
  checkpoint_per_pass: count(6, 1, 'Passes between two checkpoints.'),
  save_delta_frequency: count(6, 1, 'Passes between two delta models.'),
  save_first_base: flag(false, 'Save a base model before the first pass.'),
  data_donefile: text('', 'File whose presence says that a folder is complete; empty: a folder is when it has a file.'),
  data_sleep_second: count(10, 1, 'Seconds between two looks for the done file.'),
  prefetch: flag(false, 'Load the next pass while training this one.'),
  train_thread_num: count(12, 1, 'Trainer threads.'),
  shuffle_thread_num: count(12, 1, 'Threads of the global shuffle.'),
  preload_thread_num: count(12, 1, 'Threads that load a pass.'),
  infer_data_dir: optionalText('Evaluation data, relative to the yaml.', 'data/test'),
  on_late_data: choice(
    ON_LATE_DATA,
    'wait',
    'When the data of a pass are not there after data_wait_minutes: wait on and say so, skip = train what there is, or stop.',
  ),
  data_wait_minutes: z.number().positive().default(60).meta({
    description: 'Minutes after which the data of a pass are late.',
    expected: 'a number of minutes above 0',
  }),
  evaluate: choice(
    EVALUATE,
    'before',
    'Whether each pass judges the model before it trains on it: before = as PaddleRec does; next = also noted as the result of the pass before it, in evaluation.jsonl; none.',
  ),
  delta_format: choice(
    DELTA_FORMATS,
    'both',
    'How base and delta models are written: Paddle’s text, Oarfish’s files, which `oarfish serve --follow` reads, or both.',
  ),
  delta_rows: choice(
    DELTA_ROWS,
    'float32',
    'Rows of Oarfish’s deltas: as they are, or int8 = a byte a value with scale and offset by row, whose error the delta states.',
  ),
  dense_publish_seconds: z.number().min(0).default(0).meta({
    description:
      'Seconds between two publications of dense weights alone, without a checkpoint, for servers that follow; 0 = with deltas only.',
    expected: 'a number of seconds from 0 on',
  }),
  keep_days: count(
    0,
    0,
    'Days whose models are kept; older ones are removed, but for what a kept base or delta needs; 0 = all.',
  ),
  keep_versions: count(
    0,
    0,
    'Published base and delta models that are kept, newest first, under the same rule; 0 = all.',
  ),
  watch: flag(
    false,
    'Train what comes into train_data_dir, a folder whose files appear and grow, as a stream: without start_day.',
  ),
  stream_pass_seconds: count(60, 1, 'Seconds after which a pass of a stream that has records ends.'),
  stream_pass_records: count(
    0,
    0,
    'Records of a pass of a stream at most: one that has them ends at once; 0 = no limit.',
  ),
  stream_end: choice(
    STREAM_ENDS,
    'wait',
    'At the end of a stream: wait for more for ever, or stop = train what is there at once, and end.',
  ),
  need_train_dump: flag(false, 'Dump fields while training.'),
  need_infer_dump: flag(false, 'Dump fields while evaluating.'),
  train_dump_fields_dir: text('', 'Folder of the fields dumped while training.'),
  infer_dump_fields_dir: text('', 'Folder of the fields dumped while evaluating.'),
  need_prune: flag(false, 'Prune the saved inference program.'),
  local_sparse: names('Federated training: tables that stay on the worker.'),
  remote_sparse: names('Federated training: tables on the servers.'),
  with_coordinator: count(0, 0, 'Federated training with a coordinator; not part of Oarfish.'),
})
