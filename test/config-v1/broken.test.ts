/** @file A 1.x config that is wrong says where and why, and the fix it prints makes it right. */
import { expect, test } from 'vitest'
import { ConfigError } from '../../src/base/config/index.ts'
import { applyPrintedFixes } from '../config/apply-fix.ts'
import { FIXTURE, parse, singleMachine } from './blocks.testing.ts'

const SOUND = singleMachine(FIXTURE)

function refusal(text: string): ConfigError {
  try {
    parse(text)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error(`this is accepted:\n${text}`)
}

const swap = (from: string, to: string) => {
  expect(SOUND).toContain(from)
  return SOUND.replace(from, to)
}

const INFER = swap('class: train', 'class: infer')

test.each([
  [
    'a mode that names no runner',
    swap('[train_here]', '[train_her]'),
    'mode: there is no runner "train_her"; there is train_here - did you mean "train_here"?',
  ],
  ['a mode as a bare name', swap('[train_here]', 'elsewhere'), 'mode: there is no runner "elsewhere"'],
  ['no mode', swap('mode: [train_here]\n', ''), 'mode: missing'],
  [
    'a phase that names no dataset',
    swap('  dataset_name: sample_train \n', ''),
    'phase.phase1.dataset_name: missing; there is sample_train',
  ],
  [
    'a phase that names an unknown dataset',
    swap('dataset_name: sample_train', 'dataset_name: sample_trian'),
    'phase.phase1.dataset_name: there is no dataset "sample_trian"; there is sample_train - did you mean "sample_train"?',
  ],
  [
    'an unknown class',
    swap('class: train', 'class: trian'),
    'runner.train_here.class: expected train | infer | local_cluster_train | cluster_train, got "trian" - did you mean "train"?',
  ],
  ['no class', swap('  class: train\n', ''), 'runner.train_here.class: missing'],
  [
    'the misspelled async of the guide',
    swap('device: cpu', 'device: cpu\n  distribute_strategy: asycn'),
    'runner.train_here.distribute_strategy: expected async | sync | half_async | geo, got "asycn" - did you mean "async"?',
  ],
  ['another device', swap('device: cpu', 'device: tpu'), 'runner.train_here.device: expected cpu | gpu, got "tpu"'],
  [
    'an interval of 0',
    swap('interval: 2', 'interval: 0'),
    'save_checkpoint_interval: expected a whole number from 1 on, or -1, got 0',
  ],
  [
    'a phase that is not there',
    swap('phases: [phase1]', 'phases: [phase2]'),
    'runner.train_here.phases: there is no phase "phase2"; there is phase1 - did you mean "phase1"?',
  ],
  [
    'a mistyped key of a runner',
    swap('print_interval', 'print_intervall'),
    'runner.train_here.print_intervall: unknown key - did you mean "print_interval"?',
  ],
  [
    'a mistyped key of a dataset',
    swap('batch_size', 'batchsize'),
    'dataset.sample_train.batchsize: unknown key - did you mean "batch_size"?',
  ],
  ['a mistyped group', swap('phase:\n', 'phases:\n'), 'phases: unknown key - did you mean "phase"?'],
  ['an item without a name', swap('- name: phase1\n  model', '- model'), 'phase.0.name: missing'],
  [
    'two runners of one name',
    SOUND.replace('\ndataset:', '- {name: train_here, class: train}\n\ndataset:'),
    'two items of runner have this name',
  ],
  [
    'a dense slot without its width',
    swap('dense_var:13', 'dense_var'),
    'expected name:width, as in dense_var:13, got "dense_var"',
  ],
  ['a slot named twice', swap('"click 1 2', '"click 1 1 2'), 'slot "1" stands there twice'],
  [
    'infer without a model',
    INFER.replace('init_model_path: ""', 'device: cpu'),
    'runner.train_here.init_model_path: missing; infer evaluates the saved models of this folder',
  ],
  ['steps saved nowhere', swap('device: cpu', 'save_step_interval: 5'), 'runner.train_here.save_step_path: missing'],
  [
    'a phase with 0 threads',
    swap('thread_num: 1', 'thread_num: 0'),
    'phase.phase1.thread_num: expected a whole number from 1 on, got 0',
  ],
])('%s', (_what, text, message) => {
  const error = refusal(text)
  expect(error.message).toContain(message)
  expect(error.problems).toHaveLength(1)
  const { text: mended } = applyPrintedFixes(error.message, { path: 'config.yaml', text, overrides: [] })
  expect(() => parse(mended)).not.toThrow()
})

test('all at once, each in its place', () => {
  const text = swap('[train_here]', '[train_her]')
    .replace('class: train', 'class: trian')
    .replace('epochs: 4', 'epochs: 0')
  expect(refusal(text).message).toMatchInlineSnapshot(`
    "config.yaml:4:7 mode: there is no runner "train_her"; there is train_here - did you mean "train_here"?
        4 | mode: [train_her]
          |       ^^^^^^^^^^^
      fix: replace line 4 with:
        4 | mode: ["train_here"]

    config.yaml:7:10 runner.train_here.class: expected train | infer | local_cluster_train | cluster_train, got "trian" - did you mean "train"?
        7 |   class: trian
          |          ^^^^^
      fix: replace line 7 with:
        7 |   class: train

    config.yaml:8:11 runner.train_here.epochs: expected a whole number from 1 on, got 0
        8 |   epochs: 0
          |           ^
      fix: replace line 8 with:
        8 |   epochs: 1

    3 errors in config.yaml"
  `)
})

test('the 2.x form is pointed to its own command, a backend.yaml to its own option', () => {
  expect(refusal('runner:\n  train_data_dir: data\n').message).toContain('use: oarfish train -m config.yaml')
  expect(refusal('backend: PaddleCloud\ncluster_type: mpi\n').message).toContain('-b config.yaml')
})

test("a reader's own keys are its business, those that nothing reads are said once", () => {
  const own = swap('type: DataLoader', 'type: DataLoader\n  word_count_dict_path: dict.txt')
  expect(parse(own).notices).toEqual(['keys that nothing here reads: dataset.sample_train.word_count_dict_path'])
  const withReader = own.replace('type: DataLoader', 'data_converter: reader.py')
  expect(parse(withReader).notices).toEqual([])
})
