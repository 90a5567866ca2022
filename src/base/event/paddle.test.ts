import { expect, test } from 'vitest'
import { RUN, START } from './example.testing.ts'
import { paddleLines, paddleSink } from './paddle.ts'

test("prints a run in the lines of PaddleRec's static_trainer", () => {
  let text = ''
  const sink = paddleSink((chunk) => (text += chunk), { now: () => new Date(2026, 0, 31, 8, 5, 9, 42) })
  for (const event of RUN) sink(event)
  expect(text).toMatchInlineSnapshot(`
    "2026-01-31 08:05:09,042 - INFO - **************common.configs**********
    2026-01-31 08:05:09,042 - INFO - use_gpu: False, use_xpu: False, use_visual: False, train_batch_size: 512, train_data_dir: data/train, epochs: 2, print_interval: 10, model_save_path: model_output
    2026-01-31 08:05:09,042 - INFO - **************common.configs**********
    2026-01-31 08:05:09,042 - WARNING - data/train/part-0: slot "u_x" is not in the configuration and is left out.
    2026-01-31 08:05:09,042 - INFO - epoch: 0, batch_id: 350, loss: 0.5123457, auc: 0.712345, avg_reader_cost: 0.00012 sec, avg_batch_cost: 0.00667 sec, avg_samples: 512.00000, ips: 76761.60000 ins/s
    2026-01-31 08:05:09,042 - INFO - epoch: 0 done, loss: 0.5, auc: 0.7234567, epoch time: 5.20 s
    2026-01-31 08:05:09,042 - INFO - infer epoch: 0, batch_id: 20, loss: 0.5123457, auc: 0.712345, avg_reader_cost: 0.00012 sec, avg_batch_cost: 0.00667 sec, avg_samples: 512.00000, ips: 76761.60 ins/s
    2026-01-31 08:05:09,042 - INFO - infer epoch: 0 done, loss: 0.5, auc: 0.7234567, epoch time: 0.30 s
    2026-01-31 08:05:09,042 - INFO - Already save model in model_output/0
    2026-01-31 08:05:09,042 - INFO - start load model from model_output/0
    2026-01-31 08:05:09,042 - WARNING - interrupted, epoch: 1, batch_id: 12, samples: 6144, saved in model_output/interrupted, --resume continues there
    2026-01-31 08:05:09,042 - ERROR - part-0:7 Expected a number. Remove the line.
    2026-01-31 08:05:09,042 - INFO - train done, samples: 800000, time: 10.40 s, ips: 76923.00 ins/s
    "
  `)
})

test('prints the settings that infer logs when the command is infer', () => {
  const settings = {
    'runner.infer_batch_size': 10,
    'runner.test_data_dir': 'data/test',
    'runner.infer_start_epoch': 0,
    'runner.infer_end_epoch': 2,
    'runner.infer_load_path': 'model_output',
    'runner.print_interval': 1,
  }
  expect(paddleLines({ ...START, command: 'infer', settings }, 'infer')[1]).toMatchInlineSnapshot(
    `"use_gpu: False, use_xpu: False, use_visual: False, infer_batch_size: 10, test_data_dir: data/test, start_epoch: 0, end_epoch: 2, print_interval: 1, model_load_path: model_output"`,
  )
})

test('a slice of a weighted metric says the sum of the weights, another one its samples', () => {
  const epoch = { kind: 'epoch', phase: 'train', epoch: 0, samples: 9, seconds: 1, samplesPerSecond: 9 } as const
  const slice = { value: '7', samples: 1204.5, auc: 0.6512 }
  const slices = {
    'auc by age': [{ ...slice, weighted: true as const }],
    'plain by age': [{ ...slice, samples: 1204 }],
  }
  expect(paddleLines({ ...epoch, metrics: {}, slices }, 'train').slice(1)).toEqual([
    'epoch: 0, auc by age: 7 0.6512 (weight 1204.5)',
    'epoch: 0, plain by age: 7 0.6512 (1,204 samples)',
  ])
})
