/** @file Configs as people break them. Each is one sound config with one thing wrong, and what its error must say. */

export const SOUND = `# CTR model
runner:
  train_data_dir: "data/sample_data/train"
  train_reader_path: "criteo_reader" # importlib format
  use_gpu: False
  use_auc: True
  train_batch_size: 512
  epochs: 3
  print_interval: 10
  model_save_path: "output_model_dnn"
  infer_batch_size: 512
  infer_reader_path: "criteo_reader"
  test_data_dir: "data/sample_data/test"
  infer_load_path: "output_model_dnn"
  infer_start_epoch: 0
  infer_end_epoch: 3
  num_workers: 0
  sync_mode: "async"
  split_file_list: False
  thread_num: 2

# of the network
hyper_parameters:
  optimizer:
    class: Adam
    learning_rate: 0.001
    strategy: async
  sparse_inputs_slots: 27
  sparse_feature_number: 1000001
  sparse_feature_dim: 9
  dense_input_dim: 13
  fc_sizes: [512, 256, 128, 32]
`

export interface Broken {
  readonly name: string
  readonly text: string
  readonly overrides?: readonly string[]
  readonly path?: string
  /** Must be in the message. */
  readonly says: string
  /** Dotted key and the value it must have once the fix is applied. */
  readonly then?: readonly [string, unknown]
}

/** SOUND with one part of it replaced. */
const swap = (from: string, to: string): string => {
  if (!SOUND.includes(from)) throw new Error(`not in the sound config: ${from}`)
  return SOUND.replace(from, () => to)
}

const bad = (name: string, text: string, says: string, then?: readonly [string, unknown]): Broken => ({
  name,
  text,
  says,
  ...(then && { then }),
})
const override = (argument: string, says: string, then?: readonly [string, unknown]): Broken => ({
  name: `-o ${argument}`,
  text: SOUND,
  overrides: [argument],
  says,
  ...(then && { then }),
})
const addRunner = (lines: string) => swap('  thread_num: 2\n', `  thread_num: 2\n${lines}`)
const table = (lines: string) => `${SOUND}table_parameters:\n  embedding:\n${lines}`

const SYNTAX: readonly Broken[] = [
  bad('one line indented by a tab', swap('  epochs: 3', '\tepochs: 3'), 'tabs cannot indent', ['runner.epochs', 3]),
  bad(
    'everything indented by tabs',
    SOUND.replaceAll(/^( {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2)),
    'tabs cannot indent',
  ),
  bad('no space after the colon', swap('epochs: 3', 'epochs:3'), 'a space is missing after the colon', [
    'runner.epochs',
    3,
  ]),
  bad(
    'a quote that is not closed',
    swap('"output_model_dnn"\n  infer_batch', '"output_model_dnn\n  infer_batch'),
    'the closing quote is missing',
  ),
  bad('a quote that is not opened', swap('sync_mode: "async"', 'sync_mode: async"'), 'expected sync', [
    'runner.sync_mode',
    'async',
  ]),
  bad('a list that is not closed', swap('128, 32]', '128, 32'), 'the closing ] is missing', [
    'hyper_parameters.fc_sizes',
    [512, 256, 128, 32],
  ]),
  bad(
    'a flow map that is not closed',
    swap(
      '  optimizer:\n    class: Adam\n    learning_rate: 0.001\n    strategy: async\n',
      '  optimizer: {class: Adam, learning_rate: 0.001\n',
    ),
    'the closing } is missing',
  ),
  bad('a line indented too far', swap('  epochs: 3', '   epochs: 3'), 'not indented like its neighbours', [
    'runner.epochs',
    3,
  ]),
  bad('a line indented too little', swap('  epochs: 3', ' epochs: 3'), 'not indented like its neighbours', [
    'runner.epochs',
    3,
  ]),
  bad('= for a colon', swap('epochs: 3', 'epochs = 3'), 'expected a colon between key and value', ['runner.epochs', 3]),
  bad('a space for a colon', swap('epochs: 3', 'epochs 3'), 'expected a colon between key and value', [
    'runner.epochs',
    3,
  ]),
  bad('a group without its colon', swap('runner:', 'runner'), 'the colon after the key is missing'),
  bad(
    '{workspace} without quotes',
    swap('"data/sample_data/train"', '{workspace}/data/train'),
    'the value needs quotes',
  ),
  bad(
    'a glob, which yaml reads as an alias',
    swap('"data/sample_data/train"', '*.txt'),
    'text that begins with * needs quotes',
  ),
  bad('a value that begins with @', swap('"data/sample_data/train"', '@data/train'), 'the value needs quotes'),
  bad(
    'a colon inside a value',
    addRunner('  pipe_command: python reader.py --mode: train\n'),
    'the value needs quotes',
  ),
  bad('two documents', swap('# of the network', '---'), 'this line fits nowhere'),
  bad(
    'an apostrophe inside quotes',
    swap('"output_model_dnn"\n  infer_batch', "'today's_model'\n  infer_batch"),
    'the quotes in the value do not fit',
    ['runner.infer_batch_size', 512],
  ),
  bad('a merge conflict marker', swap('  epochs: 3', '<<<<<<< HEAD\n  epochs: 3'), 'this line fits nowhere'),
]

const KEYS: readonly Broken[] = [
  bad(
    'a letter missing from a key',
    swap('  epochs: 3', '  epoch: 3'),
    'runner.epoch: unknown key - did you mean "epochs"?',
    ['runner.epochs', 3],
  ),
  bad('two letters swapped in a key', swap('thread_num', 'thread_nmu'), 'did you mean "thread_num"?', [
    'runner.thread_num',
    2,
  ]),
  bad('a key without its underscore', swap('train_batch_size', 'train_batchsize'), 'did you mean "train_batch_size"?'),
  bad('a key with a capital', swap('epochs', 'Epochs'), 'did you mean "epochs"?', ['runner.epochs', 3]),
  bad('a key with hyphens', swap('train_batch_size', 'train-batch-size'), 'did you mean "train_batch_size"?'),
  bad('a key in camel case', swap('train_data_dir', 'trainDataDir'), 'did you mean "train_data_dir"?'),
  bad(
    'a runner key at the top level',
    swap('  epochs: 3\n', '').replace('# of the network', 'epochs: 5'),
    'epochs: unknown key - did you mean "runner.epochs"?',
    ['runner.epochs', 5],
  ),
  bad('a mistyped group', swap('hyper_parameters:', 'hyper_parameter:'), 'did you mean "hyper_parameters"?', [
    'hyper_parameters.sparse_feature_dim',
    9,
  ]),
  bad('the runner group mistyped', swap('runner:', 'runer:'), 'did you mean "runner"?', ['runner.epochs', 3]),
  bad(
    'learning_rate in the runner',
    addRunner('  learning_rate: 0.01\n'),
    'did you mean "hyper_parameters.optimizer.learning_rate"?',
  ),
  bad(
    'the name another tool gives a key',
    swap('epochs', 'num_epochs'),
    'did you mean "runner.epochs"?'.replace('runner.', ''),
    ['runner.epochs', 3],
  ),
  bad(
    'a key of nobody',
    addRunner('  favourite_colour: blue\n'),
    'keys of your own reader or model go under runner.custom',
  ),
  bad('a block of nobody', addRunner('  callbacks:\n    - print\n    - stop\n'), 'runner.callbacks: unknown key'),
  bad('an unknown top-level group', `${SOUND}callbacks:\n  early_stop: 3\n`, 'callbacks: unknown key'),
  bad(
    'a mistyped key of a table',
    table('    table_clas: MemorySparseTable\n'),
    'table_parameters.embedding.table_clas: unknown key - did you mean "table_class"?',
  ),
  bad(
    'a mistyped key deep in a table',
    table('    accessor:\n      embed_sgd_param:\n        adagrad:\n          inital_range: 0.0001\n'),
    'did you mean "initial_range"?',
  ),
  bad(
    'a mistyped key of fs_client',
    addRunner('  fs_client:\n    uri: hdfs://a:9000\n    pasword: x\n'),
    'did you mean "passwd"?',
  ),
  bad(
    'a mistyped hyper-parameter',
    swap('sparse_feature_dim:', 'sparse_feature_dims:'),
    'hyper_parameters.sparse_feature_dims: unknown key - did you mean "sparse_feature_dim"?',
    ['hyper_parameters.sparse_feature_dim', 9],
  ),
  bad('a mistyped key of the optimizer', swap('learning_rate', 'learing_rate'), 'did you mean "learning_rate"?'),
  bad(
    'a mistyped key in a flow map',
    swap(
      '  optimizer:\n    class: Adam\n    learning_rate: 0.001\n    strategy: async\n',
      '  optimizer: {class: Adam, lerning_rate: 0.01}\n',
    ),
    'did you mean "learning_rate"?',
    ['hyper_parameters.optimizer.learning_rate', 0.01],
  ),
  bad(
    'a key of nobody in a flow map',
    swap(
      '  optimizer:\n    class: Adam\n    learning_rate: 0.001\n    strategy: async\n',
      '  optimizer: {class: Adam, colour: 1, learning_rate: 0.01}\n',
    ),
    'hyper_parameters.optimizer.colour: unknown key',
  ),
  bad('no batch size', swap('  train_batch_size: 512\n', ''), 'runner.train_batch_size: missing', [
    'runner.train_batch_size',
    512,
  ]),
  bad('no training data', swap('  train_data_dir: "data/sample_data/train"\n', ''), 'runner.train_data_dir: missing'),
  bad('an empty runner', 'runner:\nhyper_parameters:\n', 'runner.train_data_dir: missing'),
  bad('no runner', SOUND.slice(SOUND.indexOf('# of the network')), 'runner: missing'),
  bad('an empty file', '', 'runner: missing'),
  bad('a file without a last line break', 'runner:', 'runner.train_batch_size: missing'),
]

const GROUPS: readonly Broken[] = [
  bad(
    'runner keys that are not indented',
    `runner:\n${SOUND.slice(SOUND.indexOf('  train_data_dir'), SOUND.indexOf('\n# of')).replaceAll(/^ {2}/gm, '')}`,
    'these 18 lines are not indented under runner',
    ['runner.epochs', 3],
  ),
  bad(
    'hyper-parameters that are not indented',
    swap('  optimizer:\n    class: Adam\n    learning_rate: 0.001\n    strategy: async\n', '').replaceAll(
      /^ {2}(?=sparse|dense|fc)/gm,
      '',
    ),
    'not indented under hyper_parameters',
    ['hyper_parameters.sparse_feature_dim', 9],
  ),
  bad(
    'the line with runner: commented out',
    swap('runner:', '# runner:'),
    'the line `runner:` is missing above these keys',
    ['runner.epochs', 3],
  ),
  bad(
    'no line with runner:, and keys that are not indented',
    'train_data_dir: data\ntrain_batch_size: 4 # small\nepochs: 2\n',
    'the line `runner:` is missing above these keys',
    ['runner.epochs', 2],
  ),
]

const VALUES: readonly Broken[] = [
  bad(
    'sync_mode asyn',
    swap('"async"', '"asyn"'),
    'expected sync | async | half_async | geo | gpubox, got "asyn" - did you mean "async"?',
    ['runner.sync_mode', 'async'],
  ),
  bad('sync_mode in capitals', swap('"async"', 'ASYNC'), 'did you mean "async"?', ['runner.sync_mode', 'async']),
  bad('sync_mode with a hyphen', swap('"async"', 'half-async'), 'did you mean "half_async"?', [
    'runner.sync_mode',
    'half_async',
  ]),
  bad('sync_mode heter', swap('"async"', '"heter"'), 'heter is not part of Oarfish', ['runner.sync_mode', 'async']),
  bad(
    'sync_mode gpubox with another reader',
    swap('"async"', '"gpubox"'),
    'cannot feed sync_mode gpubox, whose passes are loaded into memory before they train',
    ['runner.reader_type', 'InmemoryDataset'],
  ),
  bad(
    'an amount of memory without its unit',
    addRunner('  pass_memory: "8"\n'),
    'expected an amount like 512MB or 8GB',
  ),
  bad('no epochs at all', swap('epochs: 3', 'epochs: 0'), 'expected a whole number from 1 on, got 0', [
    'runner.epochs',
    1,
  ]),
  bad('a negative seed', addRunner('  seed: -5\n'), 'expected a whole number from 0 on, got -5', ['runner.seed', 0]),
  bad('half an epoch', swap('epochs: 3', 'epochs: 2.5'), 'got 2.5', ['runner.epochs', 3]),
  bad('a word for a number', swap('epochs: 3', 'epochs: many'), 'expected a whole number from 1 on, got "many"', [
    'runner.epochs',
    1,
  ]),
  bad('a unit after a number', swap('train_batch_size: 512', 'train_batch_size: 512 samples'), 'got "512 samples"', [
    'runner.train_batch_size',
    512,
  ]),
  bad('a comma in a number', swap('train_batch_size: 512', 'train_batch_size: 1,024'), 'got "1,024"', [
    'runner.train_batch_size',
    1024,
  ]),
  bad(
    'underscores in a number',
    swap('sparse_feature_number: 1000001', 'sparse_feature_number: 1_000_001'),
    'got "1_000_001"',
    ['hyper_parameters.sparse_feature_number', 1000001],
  ),
  bad('k for thousand', swap('train_batch_size: 512', 'train_batch_size: 2k'), 'got "2k"', [
    'runner.train_batch_size',
    2000,
  ]),
  bad(
    'a mistyped True',
    swap('use_auc: True', 'use_auc: Ture'),
    'expected True or False, got "Ture" - did you mean "True"?',
    ['runner.use_auc', true],
  ),
  bad('a number that is no boolean', swap('use_gpu: False', 'use_gpu: 2'), 'expected True or False, got 2', [
    'runner.use_gpu',
    false,
  ]),
  bad('a device for a boolean', swap('use_gpu: False', 'use_gpu: cuda'), 'expected True or False, got "cuda"', [
    'runner.use_gpu',
    false,
  ]),
  bad('a list for a number', swap('thread_num: 2', 'thread_num: [2]'), 'got [2]', ['runner.thread_num', 2]),
  bad('a block list for a number', swap('thread_num: 2', 'thread_num:\n    - 2'), 'got [2]', ['runner.thread_num', 2]),
  bad('no threads', swap('thread_num: 2', 'thread_num: 0'), 'from 1 on, got 0', ['runner.thread_num', 1]),
  bad(
    'segments that are no power of two',
    addRunner('  table_segments: 6\n'),
    'expected a power of two from 1 to 64, got 6',
    ['runner.table_segments', 8],
  ),
  bad('too many segments', addRunner('  table_segments: 128\n'), 'got 128', ['runner.table_segments', 64]),
  bad('a reader type in another case', addRunner('  reader_type: dataloader\n'), 'did you mean "DataLoader"?', [
    'runner.reader_type',
    'DataLoader',
  ]),
  bad('a format with a hyphen', addRunner('  data_format: multi-slot\n'), 'did you mean "multislot"?', [
    'runner.data_format',
    'multislot',
  ]),
  bad('an unknown choice with nothing near', addRunner('  on_bad_line: warn\n'), 'expected error | skip, got "warn"', [
    'runner.on_bad_line',
    'error',
  ]),
  bad(
    'an empty folder name',
    swap('"data/sample_data/train"', '""'),
    'expected a folder, or a list of folders, got ""',
  ),
  bad(
    'an empty list of folders',
    swap('"data/sample_data/train"', '[]'),
    'expected a folder, or a list of folders, got []',
  ),
  bad(
    'text for a list',
    addRunner('  save_inference_feed_varnames: "C1, C2"\n'),
    'expected a list of text, got "C1, C2"',
    ['runner.save_inference_feed_varnames', ['C1', 'C2']],
  ),
  bad(
    'a number in a list that is none',
    swap('[512, 256, 128, 32]', '[512, big, 128, 32]'),
    'hyper_parameters.fc_sizes.1: expected a whole number from 1 on, got "big"',
  ),
  bad('numbers for a list as text', swap('[512, 256, 128, 32]', '"512,256"'), 'expected a list of whole numbers', [
    'hyper_parameters.fc_sizes',
    [512, 256],
  ]),
  bad('a day with hyphens', addRunner('  end_day: "2019-07-20"\n'), 'expected a day as YYYYMMDD, got "2019-07-20"', [
    'runner.end_day',
    '20190720',
  ]),
  bad(
    'an end epoch before the start',
    swap('infer_start_epoch: 0', 'infer_start_epoch: 3'),
    'expected more than infer_start_epoch (3)',
    ['runner.infer_end_epoch', 4],
  ),
  bad('a dump without a folder', addRunner('  need_dump: True\n'), 'a folder for the dumped fields is needed', [
    'runner.need_dump',
    true,
  ]),
  bad('a coordinator', addRunner('  with_coordinator: 1\n'), 'federated training is not part of Oarfish'),
  bad('a day that is none', addRunner('  start_day: "July"\n'), 'a day as YYYYMMDD'),
  bad(
    'a negative learning rate',
    swap('learning_rate: 0.001', 'learning_rate: -0.1'),
    'hyper_parameters.optimizer.learning_rate: expected a number above 0, got -0.1',
  ),
  bad(
    'a mistyped optimizer',
    swap('class: Adam', 'class: Adm'),
    'expected SGD | Adam | Adagrad, got "Adm" - did you mean "Adam"?',
    ['hyper_parameters.optimizer.class', 'Adam'],
  ),
  bad('custom that is no group', addRunner('  custom: 5\n'), 'runner.custom: expected a group of keys, got 5'),
  bad(
    'hyper_parameters as a list',
    `${SOUND.slice(0, SOUND.indexOf('hyper_parameters'))}hyper_parameters:\n  - 1\n`,
    'hyper_parameters: expected a group of keys, got [1]',
  ),
  bad('the runner as text', 'runner: train\n', 'runner: expected a group of keys, got "train"'),
  bad(
    'a table class in lower case',
    table('    table_class: memorysparsetable\n'),
    'did you mean "MemorySparseTable"?',
  ),
  bad(
    'weight bounds of one value',
    table('    accessor:\n      embed_sgd_param:\n        adagrad:\n          weight_bounds: [-10]\n'),
    'expected a list of 2 values, got [-10]',
  ),
  bad(
    'a reader file with a typo',
    swap('"criteo_reader" #', '"critero_raeder" #').replace('critero_raeder', 'my_raeder'),
    'no such reader: my_raeder.ts - did you mean "my_reader"?',
  ),
  bad('a value with Windows line ends', swap('epochs: 3', 'epochs: three').replaceAll('\n', '\r\n'), 'got "three"'),
  bad(
    'many things at once',
    swap('  epochs: 3', '  epoch: 3')
      .replace('use_auc: True', 'use_auc: Yess')
      .replace('"async"', '"gpubox"')
      .replace('  train_batch_size: 512\n', ''),
    '4 errors in config.yaml',
  ),
]

const ARGUMENTS: readonly Broken[] = [
  override('runner.epoch=2', '-o runner.epoch=2: unknown key - did you mean "runner.epochs"?', ['runner.epochs', 2]),
  override('epochs=2', 'did you mean "runner.epochs"?', ['runner.epochs', 2]),
  override('runner.epochs=two', '-o runner.epochs=two: expected a whole number from 1 on, got "two"'),
  override('runner.sync_mode=asyn', 'did you mean "async"?', ['runner.sync_mode', 'async']),
  override('runner.sync_mode=gpubox', 'cannot feed sync_mode gpubox', ['runner.reader_type', 'InmemoryDataset']),
  override('runner.epochs', 'expected key=value'),
  override('runner.epochs:2', 'expected key=value', ['runner.epochs', 2]),
  override('hyper_parameters.sparse_feature_dims=8', 'did you mean "hyper_parameters.sparse_feature_dim"?', [
    'hyper_parameters.sparse_feature_dim',
    8,
  ]),
  override('runner.epochs.max=8', 'got { max: 8 }'),
  override('hyper_parameters.fc_sizes=512', 'expected a list of whole numbers', ['hyper_parameters.fc_sizes', [512]]),
  override('runner.infer_end_epoch=0', 'expected a whole number from 1 on, got 0', ['runner.infer_end_epoch', 1]),
  {
    name: 'a mistyped file',
    text: SOUND,
    path: 'confg.yaml',
    says: 'confg.yaml: no such file - did you mean "config.yaml"?',
  },
  { name: 'a folder for a file', text: SOUND, path: '.', says: 'this is a folder, expected a config.yaml' },
]

export const BROKEN: readonly Broken[] = [...SYNTAX, ...KEYS, ...GROUPS, ...VALUES, ...ARGUMENTS]
