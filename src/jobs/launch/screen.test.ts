import { expect, test } from 'vitest'
import type { Event, EventOf } from '../../base/event/index.ts'
import { EMPTY_VIEW } from '../../base/event/view.ts'
import { plainSink, rowsSink, rowTexts } from './screen.ts'

const PROCESS: EventOf<'process'> = {
  kind: 'process',
  role: 'worker',
  rank: 0,
  pid: 4711,
  state: 'running',
  endpoint: '127.0.0.1:1',
  log: 'log/workerlog.0',
}
const SERVER = { ...PROCESS, role: 'server', pid: 12, log: 'log/serverlog.0' } as const
const line = (text: string, echo = true): Event => ({ kind: 'output', role: 'worker', rank: 0, line: text, echo })
const error: Event = { kind: 'error', code: 'X', message: 'worker 0 failed first.', hint: 'The end:\na\nb' }

/** A terminal that keeps what a person would see: applies the few control sequences that are used. */
function terminal(columns = 60, rows = 24) {
  const screen: string[] = ['']
  let [y, x] = [0, 0]
  const write = (text: string) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a terminal reads
    for (const [token, up] of text.matchAll(/\x1b\[(\d+)A|\x1b\[K|\x1b\[J|[\s\S]/g)) {
      if (up) y -= Number(up)
      else if (token === '\x1b[K') screen[y] = screen[y]!.slice(0, x)
      else if (token === '\x1b[J') screen.splice(y + 1)
      else if (token === '\r') x = 0
      else if (token === '\n') {
        y++
        x = 0
        screen[y] ??= ''
      } else {
        screen[y] = `${screen[y]!.slice(0, x).padEnd(x)}${token}${screen[y]!.slice(x + 1)}`
        x++
      }
    }
  }
  return { screen, stream: { columns, rows, write, on: () => undefined, off: () => undefined } }
}

test('a terminal shows one row a process, with lines that stay above them', () => {
  const { screen, stream } = terminal()
  const sink = rowsSink(stream)
  for (const event of [SERVER, PROCESS, line('epoch: 0'), line('epoch: 1')]) sink(event)
  sink({ ...PROCESS, state: 'failed', exit: 'exit code 3' })
  sink(error)
  sink({ ...SERVER, state: 'stopped' })
  sink.close()
  expect(screen).toEqual([
    'epoch: 0',
    'epoch: 1',
    'worker 0 failed (pid 4711): exit code 3',
    'worker 0 failed first.',
    '  The end:',
    '  a',
    '  b',
    'server 0   pid 12      stopped   ',
    'worker 0   pid 4711    failed: exit code 3  epoch: 1',
    '',
  ])
})

test('hosts keep the order of the job, whichever starts first', () => {
  const { screen, stream } = terminal(80)
  const sink = rowsSink(stream)
  const at = (rank: number, process: EventOf<'process'>): Event => ({
    ...process,
    rank,
    host: `root@10.0.0.${9 - rank}`,
  })
  for (const event of [at(2, SERVER), at(0, SERVER), at(1, SERVER), at(1, PROCESS), at(0, PROCESS), at(2, PROCESS)])
    sink(event)
  sink.close()
  expect(screen.map((row) => row.slice(0, 29))).toEqual([
    'root@10.0.0.9        server 0',
    'root@10.0.0.9        worker 0',
    'root@10.0.0.8        server 1',
    'root@10.0.0.8        worker 1',
    'root@10.0.0.7        server 2',
    'root@10.0.0.7        worker 2',
    '',
  ])
})

test('rows are cut to the terminal, without what would move the cursor; more than fit are counted', () => {
  const row = (text: string) => ({ process: PROCESS, line: text })
  const [cut] = rowTexts([row('2026-11-15 22:00:12,071 - INFO - \x1b[31mred\x1b[0m\tand long')], {
    columns: 45,
    rows: 24,
  })
  expect(cut).toBe('worker 0   pid 4711    running   red and lon')
  expect(
    rowTexts([row('I1116 07:15:33.361000 2208 trainer]  Pass=0 samples=90000')], { columns: 50, rows: 24 })[0],
  ).toBe('worker 0   pid 4711    running   Pass=0 samples=9')
  expect(rowTexts([row('训练轮次训练轮次')], { columns: 39, rows: 24 })[0]).toBe(
    'worker 0   pid 4711    running   训练',
  )
  const many = rowTexts(
    Array.from({ length: 30 }, () => row('')),
    { columns: 80, rows: 10 },
  )
  expect([many.length, many.at(-1)]).toEqual([8, '... and 23 more'])
})

const BATCH: EventOf<'batch'> = {
  ...{ kind: 'batch', phase: 'train', epoch: 0, batch: 1203, samples: 20_000, fraction: 0.5 },
  ...{ metrics: { loss: 0.523_412_34, auc: 0.701_234_56 }, samplesPerSecond: 12_345.678, staleness: 1.25 },
  ...{ readerSecondsPerBatch: 0.0007, secondsPerBatch: 0.01, samplesPerBatch: 512 },
  links: [{ to: 'server-0', sentBytesPerSecond: 3e6, receivedBytesPerSecond: 2e6, answerSeconds: 0.001, busy: 0.1 }],
}
const seen = (): Event => {
  const view = { epochs: 2, begin: { atMs: Date.now() - 30_000, epoch: 0 }, batch: BATCH, interrupted: false }
  return { kind: 'output', role: 'worker', rank: 0, line: '', echo: false, view: { ...view, memory: 412e6 } }
}
const sizes = { table: 'embedding', memoryRows: 90_000, memoryBytes: 7e6, diskRows: 0, diskBytes: 0 }
const served: Event = {
  ...{ kind: 'output', role: 'server', rank: 0, line: '', echo: false },
  view: { ...EMPTY_VIEW, memory: 155e6, tables: { kind: 'tables', step: 2411, tables: [sizes] } },
}

test.each([
  [
    80,
    [
      'host      process   state    done   step  samples/s  stale    memory  wait',
      '10.0.0.1  server 0  running  2,411                    155.0 MB',
      '10.0.0.1  worker 0  running   50%  1,204      12.3k    1.3  412.0 MB    7%',
      'epoch 0 of 0-1 ━━━━━━━━━━────────── 50% 12.3k/s loss 0.5234 auc 0.7012 ETA 1:3x',
    ],
  ],
  [
    200,
    [
      'host      process   state    epoch  done   step  samples/s  stale    memory  wait    loss     auc    rows    sent  received   ETA',
      '10.0.0.1  server 0  running               2,411                    155.0 MB                        90,000',
      '10.0.0.1  worker 0  running      0   50%  1,204      12.3k    1.3  412.0 MB    7%  0.5234  0.7012          3.0 MB/s  2.0 MB/s  1:3x',
      'epoch 0 of 0-1 ━━━━━━━━━━━━━━━─────────────── 50% 12.3k/s loss 0.5234 auc 0.7012 ETA 1:3x',
    ],
  ],
])(
  '%i columns have role, rank, host, state, step, rate, staleness, memory and waiting of each process',
  (columns, lines) => {
    const { screen, stream } = terminal(columns)
    const sink = rowsSink(stream)
    const host = 'root@10.0.0.1'
    for (const event of [{ ...SERVER, host }, { ...PROCESS, host }, seen(), served]) sink(event)
    sink.close()
    expect(screen.slice(0, -1).map(flat)).toEqual(lines.map(flat))
    expect(Math.max(...screen.map((row) => row.length))).toBeLessThan(columns)
  },
)

/** Whatever the widths of columns, and to ten seconds. */
const flat = (row: string) => row.replaceAll(/ +/g, ' ').replace(/(\d:\d)\d$/, '$1x')

test('batch lines give way to the rows, numbers of other lines are rounded', () => {
  const { screen, stream } = terminal(80)
  const sink = rowsSink(stream)
  for (const event of [SERVER, PROCESS, seen()]) sink(event)
  sink(line('2026-11-15 22:00:12,071 - INFO - epoch: 0, batch_id: 40, loss: 0.52341234, auc: 0.70123456'))
  sink(line('2026-11-15 22:00:13,071 - INFO - epoch: 0 done, loss: 0.52341234, auc: 0.70123456, ips: 12345.678901'))
  sink.close()
  expect(screen[0]).toBe('epoch: 0 done, loss: 0.5234, auc: 0.7012, ips: 12346')
  expect(screen.slice(1, 4).map((row) => row.split(' ')[0])).toEqual(['process', 'server', 'worker'])
  expect(screen).toHaveLength(6)
})

test('below many processes stands the bar of the job, with the rates of all', () => {
  const rows = Array.from({ length: 30 }, (_, rank) => {
    const view = { ...EMPTY_VIEW, epochs: 2, begin: { atMs: Date.now() - 30_000, epoch: 0 }, batch: BATCH }
    return { process: { ...PROCESS, rank }, view }
  })
  const texts = rowTexts(rows, { columns: 80, rows: 10 })
  expect(texts).toHaveLength(8)
  expect(texts.at(-2)).toBe('... and 25 more')
  expect(texts.at(-1)).toMatch(/^epoch 0 of 0-1 ━+─+ 50% 370k\/s loss 0\.5234 auc 0\.7012 ETA/)
})

test('elsewhere every change is a plain line, and only echoed output is shown', () => {
  let text = ''
  const sink = plainSink((more) => {
    text += more
  })
  for (const event of [PROCESS, line('epoch: 0'), line('hidden', false), { ...PROCESS, state: 'done' } as const, error])
    sink(event)
  expect(text).toBe(
    'worker 0 runs (pid 4711) on 127.0.0.1:1, output in log/workerlog.0\nepoch: 0\nworker 0 is done (pid 4711)\nworker 0 failed first.\n  The end:\n  a\n  b\n',
  )
})
