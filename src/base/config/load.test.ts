import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isUserError, packageFile } from '../util/index.ts'
import { loadConfig } from './load.ts'

const SMALL = 'runner:\n  train_data_dir: data/train\n  train_batch_size: 512\n'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-config-'))
  mkdirSync(join(folder, 'model'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function load(text: string, overrides: readonly string[] = []) {
  writeFileSync(join(folder, 'model', 'config.yaml'), text)
  return loadConfig({ path: 'model/config.yaml', overrides, cwd: folder })
}

function message(text: string, overrides: readonly string[] = []): string {
  try {
    load(text, overrides)
  } catch (error) {
    if (isUserError(error)) return error.message
    throw error
  }
  throw new Error('the config was accepted')
}

describe('what a config means', () => {
  test('the smallest config has every default', () => {
    const { config, notices } = load(SMALL)
    expect(notices).toEqual([])
    expect(config.runner).toMatchObject({
      epochs: 1,
      seed: 12345,
      thread_num: 1,
      print_interval: 10,
      infer_batch_size: 512,
      infer_start_epoch: 0,
      infer_end_epoch: 10,
      reader_type: 'DataLoader',
      infer_reader_type: 'DataLoader',
      data_format: 'auto',
      on_bad_line: 'error',
      reader_threads: 0,
      table_segments: 4,
      sync_mode: 'async',
      use_auc: false,
      custom: {},
    })
    expect(config.runner.use_gpu).toBeUndefined()
    expect(config.runner.test_data_dir).toBeUndefined()
    expect(config.runner.train_reader_path).toBeUndefined()
    expect(config.hyper_parameters).toEqual({})
  })

  test('data is relative to the yaml, saved models to the working folder', () => {
    const { config } = load(`${SMALL}  test_data_dir: ../test\n  model_save_path: out\n  infer_load_path: /abs/out\n`)
    expect(config.dir).toBe(join(folder, 'model'))
    expect(config.runner.train_data_dir).toBe(join(folder, 'model/data/train'))
    expect(config.runner.test_data_dir).toBe(join(folder, 'test'))
    expect(config.runner.model_save_path).toBe(join(folder, 'out'))
    expect(config.runner.infer_load_path).toBe('/abs/out')
  })

  test('remote paths stay as they are', () => {
    const { config } = load('runner:\n  train_data_dir: "hdfs://host:9000/train"\n  train_batch_size: 1\n')
    expect(config.runner.train_data_dir).toBe('hdfs://host:9000/train')
  })

  test('{workspace} is relative to the working folder, or beside the yaml where that does not exist', () => {
    const text = (workspace: string) =>
      `workspace: "${workspace}"\nrunner:\n  train_data_dir: "{workspace}/data"\n  train_batch_size: 1\n`
    expect(load(text('model')).config.runner.train_data_dir).toBe(join(folder, 'model/data'))
    expect(load(text('elsewhere')).config.runner.train_data_dir).toBe(join(folder, 'model/elsewhere/data'))
  })

  test('a reader is the .ts or .py file of that name, and its absence is said once', () => {
    const text = `${SMALL}  train_reader_path: "my_reader" # importlib format\n  infer_reader_path: other.py\n`
    writeFileSync(join(folder, 'model', 'my_reader.ts'), '')
    const { config, notices } = load(text)
    expect(config.runner.train_reader_path).toBe(join(folder, 'model/my_reader.ts'))
    expect(config.runner.infer_reader_path).toBeUndefined()
    expect(notices).toEqual([
      'runner.infer_reader_path: there is no other.ts or .py beside config.yaml; the built-in reader reads the data',
    ])
  })

  test('num_workers sets the reader threads unless reader_threads does', () => {
    expect(load(`${SMALL}  num_workers: 3\n`).config.runner.reader_threads).toBe(3)
    expect(load(`${SMALL}  num_workers: 3\n  reader_threads: 1\n`).config.runner.reader_threads).toBe(1)
  })

  test('keys of single PaddleRec models reach the model through runner.custom', () => {
    const { config } = load(`${SMALL}  top_k: 10\n  custom:\n    depth: 2\n`)
    expect(config.runner.custom).toEqual({ top_k: 10, depth: 2 })
    expect(config.runner).not.toHaveProperty('top_k')
  })

  test('the result is frozen to the bottom', () => {
    const { config } = load(`${SMALL}hyper_parameters:\n  optimizer: {class: Adam}\n`)
    expect(Object.isFrozen(config.runner.save_inference_feed_varnames)).toBe(true)
    expect(Object.isFrozen(config.hyper_parameters['optimizer'])).toBe(true)
  })

  test('a config that ships with the package goes by its PaddleRec name', () => {
    const named = (path: string) => loadConfig({ path, cwd: folder }).config
    expect(named('paddlerec.models.rank.dnn').dir).toMatch(/models\/rank\/dnn$/)
    expect(named('paddlerec.models.rank.dnn/config_bigdata.yaml').runner.model_save_path).toMatch(/dnn_all$/)
    expect(() => named('paddlerec.models.rank.no_such_model')).toThrow(/no such file/)
    expect(() => named('paddlerec.models.rank.dnn/no_such.yaml')).toThrow(/no such file/)
  })

  test('the model in its place is no config, and the yaml beside it is named', () => {
    const named = () => loadConfig({ path: 'model.ts', cwd: packageFile('models/rank/dnn') })
    expect(named).toThrow(/model\.ts: this is a program, expected a config\.yaml - did you mean "config\.yaml"\?/)
  })
})

describe('what PaddleRec users write', () => {
  test.each([
    ['use_auc: True', 'use_auc', true],
    ['use_auc: true', 'use_auc', true],
    ['use_auc: 1', 'use_auc', true],
    ['use_auc: "False"', 'use_auc', false],
    ['use_auc: yes', 'use_auc', true],
    ['use_gpu: 0', 'use_gpu', false],
    ['epochs: "4"', 'epochs', 4],
    ['epochs: 4.0', 'epochs', 4],
    ['epochs: 1e1', 'epochs', 10],
    ['epochs:', 'epochs', 1],
    ['epochs: ~', 'epochs', 1],
    ['end_day: 20190722', 'end_day', '20190722'],
    ['reader_type: "RecDataset"', 'reader_type', 'RecDataset'],
    ['infer_reader_type: InMemoryDataset', 'infer_reader_type', 'InmemoryDataset'],
    ['save_inference_feed_varnames: [1, "2", C3]', 'save_inference_feed_varnames', ['1', '2', 'C3']],
    ['geo_step: 400', 'geo_step', 400],
  ])('%s', (line, key, value) => {
    const { runner } = load(`${SMALL}  ${line}\n`).config
    expect(runner[key as keyof typeof runner]).toEqual(value)
  })

  test('anchors, aliases and merge keys', () => {
    const { config } = load(
      `runner: &r\n  train_data_dir: &data data\n  test_data_dir: *data\n  train_batch_size: 8\nhyper_parameters:\n  sizes: &s {a: 1}\n  more: {<<: *s, b: 2}\n`,
    )
    expect(config.runner.test_data_dir).toBe(join(folder, 'model/data'))
    expect(config.hyper_parameters['more']).toEqual({ a: 1, b: 2 })
  })

  test('of a repeated key the last counts, and both lines are named', () => {
    const { config, notices } = load(`${SMALL}  epochs: 2\n  epochs: 5\n`)
    expect(config.runner.epochs).toBe(5)
    expect(notices).toEqual(['model/config.yaml:5:3 runner.epochs: also set on line 4; the last one counts'])
  })

  test('keys without effect are named once, in one notice a kind', () => {
    const { notices } = load(
      `${SMALL}  use_xpu: False\n  CE: True\n  need_infer_dump: True\n  need_train_dump: True\n  sync_mode: async\n  use_gpu: True\n`,
    )
    expect(notices).toEqual([
      'PaddleRec keys that Oarfish does not need: runner.use_xpu, runner.CE',
      'not in this build yet, without effect on this run: runner.need_infer_dump, runner.need_train_dump',
    ])
  })

  test('table_parameters are checked', () => {
    const { notices, config } = load(
      `${SMALL}table_parameters:\n  embedding:\n    shard_num: 10\n    accessor:\n      fea_dim: 11\n`,
    )
    expect(notices).toEqual([])
    expect(config.table_parameters['embedding']?.accessor?.fea_dim).toBe(11)
    const cached = load(`${SMALL}table_parameters:\n  embedding:\n    enable_revert: True\n`)
    expect(cached.notices).toEqual([
      'not in this build yet, without effect on this run: table_parameters.embedding.enable_revert',
    ])
  })
})

describe('-o', () => {
  test.each([
    ['runner.epochs=7', ['runner', 'epochs'], 7],
    ['runner.use_auc=true', ['runner', 'use_auc'], true],
    ['runner.model_save_path=/a=b', ['runner', 'model_save_path'], '/a=b'],
    ['runner.infer_load_path=/0720', ['runner', 'infer_load_path'], '/0720'],
    ['runner.end_day=01020304', ['runner', 'end_day'], '01020304'],
    ['hyper_parameters.fc_sizes=[64, 32]', ['hyper_parameters', 'fc_sizes'], [64, 32]],
    ['hyper_parameters.optimizer.learning_rate=1e-2', ['hyper_parameters', 'optimizer', 'learning_rate'], 0.01],
    ['hyper_parameters.tag=01', ['hyper_parameters', 'tag'], '01'],
    ['runner.custom.depth=3', ['runner', 'custom', 'depth'], 3],
  ])('%s', (override, path, value) => {
    const { config } = load(`${SMALL}hyper_parameters:\n  tag: abc\n  optimizer: {class: Adam}\n`, [override])
    expect(path.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], config)).toEqual(value)
  })

  test('the last of two counts, and the rest of the group stays', () => {
    const { config } = load(`${SMALL}hyper_parameters:\n  optimizer: {class: Adam}\n`, [
      'runner.epochs=2',
      'runner.epochs=3',
      'hyper_parameters.optimizer.learning_rate=1',
    ])
    expect(config.runner.epochs).toBe(3)
    expect(config.hyper_parameters['optimizer']).toEqual({ class: 'Adam', learning_rate: 1 })
  })

  test('a wrong item of a list is mended inside its argument', () => {
    expect(message(SMALL, ['runner.dump_fields=[a, {b: 1}]'])).toContain('fix: write -o runner.dump_fields=["a"]')
  })
})

describe('the printed errors', () => {
  test('one problem', () => {
    expect(message(`${SMALL}  sync_mode: "asyn"\n`)).toMatchInlineSnapshot(`
      "model/config.yaml:4:14 runner.sync_mode: expected sync | async | half_async | geo | gpubox, got "asyn" - did you mean "async"?
          4 |   sync_mode: "asyn"
            |              ^^^^^^
        fix: replace line 4 with:
          4 |   sync_mode: "async"

      1 error in model/config.yaml"
    `)
  })

  test('all problems at once, in the order of the file', () => {
    expect(
      message('runner:\n  train_data_dir: data # here\n  epoch: 2\n  use_auc: Ture\n  sync_mode: heter\nlr: 0.1\n', [
        'runner.thread_num=0',
      ]),
    ).toMatchInlineSnapshot(`
      "model/config.yaml:1:1 runner.train_batch_size: missing, expected a whole number from 1 on. Samples in a training batch
          1 | runner:
            | ^^^^^^
        fix: insert after line 1:
          2 |   train_batch_size: 512

      model/config.yaml:3:3 runner.epoch: unknown key - did you mean "epochs"?
          3 |   epoch: 2
            |   ^^^^^
        fix: replace line 3 with:
          3 |   epochs: 2

      model/config.yaml:4:12 runner.use_auc: expected True or False, got "Ture" - did you mean "True"?
          4 |   use_auc: Ture
            |            ^^^^
        fix: replace line 4 with:
          4 |   use_auc: True

      model/config.yaml:5:14 runner.sync_mode: heter is not part of Oarfish, expected sync | async | half_async | geo | gpubox
          5 |   sync_mode: heter
            |              ^^^^^
        fix: replace line 5 with:
          5 |   sync_mode: async

      model/config.yaml:6:1 lr: unknown key - did you mean "hyper_parameters.optimizer.learning_rate"?
          6 | lr: 0.1
            | ^^
        fix: remove line 6
        fix: insert after line 6:
          7 | hyper_parameters:
          8 |   optimizer:
          9 |     learning_rate: 0.1

      -o runner.thread_num=0: expected a whole number from 1 on, got 0
        fix: write -o runner.thread_num=1

      6 errors in model/config.yaml"
    `)
  })

  test('yaml that does not parse', () => {
    expect(message('runner:\n  train_data_dir: {workspace}/data\n  train_batch_size: 2\n')).toMatchInlineSnapshot(`
      "model/config.yaml:2:19 this is not yaml: the value needs quotes
          2 |   train_data_dir: {workspace}/data
            |                   ^
        fix: replace line 2 with:
          2 |   train_data_dir: "{workspace}/data"

      1 error in model/config.yaml"
    `)
  })

  test('a long line is shown around the caret', () => {
    const names = Array.from({ length: 40 }, (_, i) => `"C${i}"`).join(', ')
    expect(
      message(`${SMALL}  dump_fields: [${names}, {a: 1}]\n`).split('\n').slice(0, 3).join('\n'),
    ).toMatchInlineSnapshot(`
      "model/config.yaml:4:287 runner.dump_fields.40: expected text, got { a: 1 }
          4 | …34", "C35", "C36", "C37", "C38", "C39", {a: 1}]
            |                                          ^^^^^^"
    `)
  })

  test('a PaddleRec 1.x config', () => {
    expect(message('mode: [train]\nrunner:\n- name: train\n  class: train\n')).toMatchInlineSnapshot(`
      "model/config.yaml:3:1 runner: a list of runners is the PaddleRec 1.x form, which has a command of its own
          3 | - name: train
            | ^^^^^^^^^^^^^
        fix: use: oarfish run -m model/config.yaml

      1 error in model/config.yaml"
    `)
  })

  test('another kind of yaml', () => {
    expect(message('a: 1\nb: 2\nc: 3\nd: 4\n')).toMatchInlineSnapshot(`
      "model/config.yaml: runner: missing; this yaml has none of the groups of a config, so it is probably another kind of file
        fix: name a config.yaml such as models/rank/dnn/config.yaml

      1 error in model/config.yaml"
    `)
  })
})

test('for a folder its config.yaml is proposed, whatever else lies there', () => {
  for (const name of ['a.yaml', 'config.yaml']) writeFileSync(join(folder, 'model', name), SMALL)
  expect(() => loadConfig({ path: 'model', cwd: folder })).toThrow('did you mean "model/config.yaml"?')
})
