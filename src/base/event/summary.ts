/** @file The end of a run over several epochs: a table of what each measured, the best one marked. */
import type { EventOf } from './event.ts'
import { metricText } from './text.ts'

/** No lines where there was nothing to compare. */
export function summaryLines({ epochs = [], best }: EventOf<'done'>): string[] {
  if (epochs.filter(({ test }) => test).length < 2) return []
  const names = [...new Set(epochs.flatMap(({ test = {} }) => Object.keys(test)))]
  const head = ['epoch', ...names.map((name) => `train ${name}`), ...names.map((name) => `test ${name}`), '']
  const rows = epochs.map(({ epoch, train, test = {} }) => {
    const values = [...names.map((name) => train[name]), ...names.map((name) => test[name])]
    const mark = best?.epoch === epoch ? `best ${best.metric}` : ''
    return [String(epoch), ...values.map((value) => (value === undefined ? '-' : metricText(value))), mark]
  })
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]!.length), title.length),
  )
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
