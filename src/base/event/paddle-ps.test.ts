/** @file The lines of static_ps_trainer. */
import { expect, test } from 'vitest'
import type { Event } from './event.ts'
import { paddleSink } from './paddle.ts'

function printed(events: readonly Event[]): string[] {
  const lines: string[] = []
  const sink = paddleSink((text) => lines.push(text.replace(/^.* - INFO - /, '').trimEnd()), { now: () => new Date(0) })
  for (const event of events) sink(event)
  return lines.filter((line) => !line.includes('common.configs') && !line.startsWith('use_gpu'))
}

const settings = { 'runner.use_auc': true }

test('a worker prints role, epochs and the result as PaddleRec does', () => {
  const job = { role: 'worker', rank: 0, threads: 2 } as const
  const metrics = { loss: 0.5, auc: 0.75 }
  const common = { epoch: 0, samples: 100, seconds: 2, samplesPerSecond: 50, metrics }
  const lines = printed([
    { kind: 'start', command: 'train', model: 'm', settings, job },
    { kind: 'epochStart', phase: 'train', epoch: 0, files: 1, bytes: 10 },
    { kind: 'epoch', phase: 'train', ...common },
    { kind: 'done', samples: 100, seconds: 2, samplesPerSecond: 50, metrics },
  ])
  expect(lines).toEqual([
    '-- Role: TRAINER --',
    'cpu_num: 2',
    'Run Worker Begin',
    'Epoch: 0, Running Dataset Begin.',
    'epoch: 0 done, loss: 0.5, auc: 0.75, epoch time: 2.00 s',
    'Epoch: 0, using time: 2 second, ips: 50 example/sec. auc: 0.75',
    'train done, samples: 100, time: 2.00 s, ips: 50.00 ins/s',
    "train_result_dict: {'speed': [50], 'auc': [0.75]}",
    'Run Success, Exit.',
  ])
})

test('a server prints its role and that it runs', () => {
  const job = { role: 'server', rank: 0, threads: 2 } as const
  expect(printed([{ kind: 'start', command: 'train', model: 'm', settings, job }])).toEqual([
    '-- Role: PSERVER --',
    'Run Server Begin',
  ])
})

test('a GPU parameter server begins with a table of its keys: names to the right, values in the middle, long ones by their end', () => {
  const job = { role: 'worker', rank: 0, threads: 2 } as const
  const own = { 'runner.sync_mode': 'gpubox', 'runner.use_gpu': true, 'runner.train_data_dir': '0123456789'.repeat(5) }
  const lines = printed([{ kind: 'start', command: 'train', model: 'm', settings: own, job }])
  const rule = `+${'-'.repeat(86)}+`
  expect(lines).toEqual([
    rule,
    '|                PaddleRec Benchmark Envs|                    Value                    |',
    rule,
    '|                        runner.sync_mode|                   gpubox                    |',
    '|                          runner.use_gpu|                    True                     |',
    '|                   runner.train_data_dir|... 90123456789012345678901234567890123456789|',
    rule,
    '-- Role: TRAINER --',
    'cpu_num: 2',
    'sync_mode = gpubox',
    'end network.....',
    'Run Worker Begin',
  ])
})
