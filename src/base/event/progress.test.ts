import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { batch, DONE, epoch, RUN, START } from './example.testing.ts'
import { progressSink } from './progress.ts'
import { keptText, progressLine } from './progress-text.ts'
import { EMPTY_VIEW, foldView, type View } from './view.ts'

const PLAIN = { color: false, unicode: true }
const NOW_MS = 10_000
const view: View = { epochs: 2, begin: { atMs: 0, epoch: 0 }, batch: batch(), interrupted: false }

/** A terminal that records what is written and can be resized. */
function terminal(columns: number) {
  const listeners = new Set<() => void>()
  const writes: string[] = []
  return {
    columns,
    writes,
    listeners,
    write: (text: string) => writes.push(text),
    on: (_event: 'resize', listener: () => void) => listeners.add(listener),
    off: (_event: 'resize', listener: () => void) => listeners.delete(listener),
    resize(this: { columns: number }, columns: number) {
      this.columns = columns
      for (const listener of listeners) listener()
    },
  }
}

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => vi.useRealTimers())

test('the bar line gives up detail as the terminal narrows', () => {
  const lines = [100, 77, 60, 50, 37, 20, 10, 2].map(
    (width) => `|${(progressLine(view, NOW_MS, width, PLAIN) ?? '').padEnd(width)}|`,
  )
  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "|epoch 0 of 0-1 ━━━━━━━━━━━━━───────────────── 45% 76.8k/s loss 0.5123 auc 0.7123 ETA 0:35           |
    |epoch 0 of 0-1 ━━━━━━━━────────── 45% 76.8k/s loss 0.5123 auc 0.7123 ETA 0:35|
    |epoch 0 of 0-1 45% 76.8k/s loss 0.5123 auc 0.7123 ETA 0:35  |
    |0 of 0-1 45% 76.8k/s loss 0.512 auc 0.712 ETA 0:35|
    |0 of 0-1 45% 76.8k/s loss 0.512      |
    |0 of 0-1 45% 76.8k/s|
    |0 of 0-1  |
    |  |"
  `)
})

test('of many metrics the loss and the AUC stay, wherever the model has it', () => {
  const metrics = { loss: 0.5, logloss: 0.5, copc: 1, calibration: 1, auc: 0.7 }
  expect(progressLine({ ...view, batch: batch({ metrics }) }, NOW_MS, 60, PLAIN)).toMatch(/loss 0\.5\S* auc 0\.7.* ETA/)
})

test('the bar line is never wider than allowed', () => {
  const states = [
    batch(),
    batch({ phase: 'infer', metrics: { loss: 12345678, auc: Number.NaN, recall: 0.5 } }),
    batch({ fraction: 1, metrics: {} }),
  ]
  for (const state of states)
    for (let width = 0; width < 120; width++)
      expect((progressLine({ ...view, batch: state }, NOW_MS, width, PLAIN) ?? '').length).toBeLessThanOrEqual(width)
})

test('a large table shows how far it is saved, until it is', () => {
  const progress = { kind: 'progress', what: 'save', table: 'embedding', rows: 4_500_000, ofRows: 10_000_000 } as const
  const saving = foldView({ ...view, batch: undefined }, progress, NOW_MS)
  expect(progressLine(saving, NOW_MS, 77, PLAIN)).toMatchInlineSnapshot(
    `"saving embedding ━━━━━━━━━━━━─────────────── 45% 4,500,000 of 10,000,000 rows"`,
  )
  for (let width = 0; width < 120; width++)
    expect((progressLine(saving, NOW_MS, width, PLAIN) ?? '').length).toBeLessThanOrEqual(width)
  const saved = foldView(saving, { kind: 'saved', path: 'm/0', epoch: 0 }, NOW_MS)
  expect(progressLine(saved, NOW_MS, 77, PLAIN)).toBeUndefined()
})

test('terminals without Unicode get an ASCII bar, colours come only when asked for', () => {
  expect(progressLine(view, NOW_MS, 77, { color: false, unicode: false })).toContain('####')
  expect(progressLine(view, NOW_MS, 77, PLAIN)).not.toContain('\x1b')
  expect(progressLine(view, NOW_MS, 77, { color: true, unicode: true })).toContain('\x1b[32m━')
})

test('what stays above the bar tells the run', () => {
  let state = EMPTY_VIEW
  const kept = RUN.map((event) => {
    state = foldView(state, event, 0)
    return keptText(event, state, PLAIN)
  })
  expect(kept.filter((text) => text !== undefined).join('\n')).toMatchInlineSnapshot(`
    "train models/rank/dnn  (train_batch_size 512, thread_num 2, epochs 2)
    warning: data/train/part-0: slot "u_x" is not in the configuration and is left out.
    epoch 0 of 0-1  loss 0.5000  auc 0.7235  400,000 samples in 5.2 s (76.9k/s)
    test  0 of 0-1  loss 0.5000  auc 0.7235  40,000 samples in 0.3 s (133k/s)
    saved model_output/0
    loaded model_output/0
    stopped in epoch 2 after batch 12 (6,144 samples)
    saved model_output/interrupted; the same command with --resume goes on from there
    error: part-0:7 Expected a number.
      Remove the line.
    so far  loss 0.4900  auc 0.7300  800,000 samples in 10.4 s (76.9k/s)
    test  loss 0.5012  auc 0.7198"
  `)
})

test('a run that was not stopped ends with done', () => {
  expect(keptText(DONE, EMPTY_VIEW, PLAIN)).toMatch(/^done {2}loss/)
})

test('a redraw covers the old bar in a single write', () => {
  const stream = terminal(80)
  const sink = progressSink(stream, PLAIN)
  sink(START)
  sink(batch())
  vi.advanceTimersByTime(100)
  sink(batch({ fraction: 0.5 }))
  expect(stream.writes).toHaveLength(3)
  const text = `epoch 0 of 0-1 ${'━'.repeat(13)}${'─'.repeat(14)} 50% 76.8k/s loss 0.5123 auc 0.7123`
  expect(stream.writes[2]).toBe(`\r${text}\x1b[K`)
})

test('there are at most ten redraws a second, and the last state is drawn', () => {
  const stream = terminal(80)
  const sink = progressSink(stream, PLAIN)
  for (let ms = 0; ms < 1000; ms++) {
    sink(batch({ fraction: ms / 1000 }))
    vi.advanceTimersByTime(1)
  }
  expect(stream.writes.length).toBeLessThanOrEqual(11)
  vi.advanceTimersByTime(100)
  expect(stream.writes.at(-1)).toContain('99%')
})

test('an epoch summary replaces the bar and keeps its own line', () => {
  const stream = terminal(80)
  const sink = progressSink(stream, PLAIN)
  sink(batch())
  sink(epoch())
  expect(stream.writes.at(-1)).toBe('\r\x1b[Kepoch 0  loss 0.5000  auc 0.7235  400,000 samples in 5.2 s (76.9k/s)\n')
})

test('a bar that a shrunken terminal has wrapped is erased from its first row', () => {
  const stream = terminal(80)
  const sink = progressSink(stream, PLAIN)
  sink(batch())
  vi.advanceTimersByTime(200)
  stream.resize(30)
  expect(stream.writes.at(-1)).toBe('\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K0 45% 76.8k/s loss 0.512\x1b[K')
})

test('nothing is drawn and nothing is awaited after the end of a run or after close', () => {
  for (const end of [
    (sink: ReturnType<typeof progressSink>) => sink(DONE),
    (sink: ReturnType<typeof progressSink>) => sink.close(),
  ]) {
    const stream = terminal(80)
    const sink = progressSink(stream, PLAIN)
    sink(batch())
    sink(batch({ fraction: 0.5 }))
    end(sink)
    const count = stream.writes.length
    vi.advanceTimersByTime(1000)
    expect(stream.writes).toHaveLength(count)
    expect(vi.getTimerCount()).toBe(0)
  }
})
